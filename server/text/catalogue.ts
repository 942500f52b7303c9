import { readFileSync } from 'node:fs';
import { createInstance } from 'i18next';
import { english } from './en/catalogue.ts';
import { escapeHtml, Html } from './html.ts';
import { currentLanguage, forEachLanguage, type Language, languages } from './language.ts';

/*
 * The texts of all pages and mails, in JSON files for each language. The first part of a key is the name of the file:
 * `t('shell.layout.main_navigation')` is the text `layout.main_navigation` in shell.json.
 *
 * A text may contain values: `by {{author}}`. The value `count` selects the singular or the plural: the key `ideas`
 * stands for the texts `ideas_one` and `ideas_other`. `{{count, number}}` formats a number in the reader's language.
 * A key that ends with `_html` stands for markup. Its values are escaped.
 */

export type TextValues = Readonly<Record<string, string | number | Html>>;

type KeysOf<Texts> = {
  [Name in keyof Texts & string]: Texts[Name] extends string ? WithoutPlural<Name> : `${Name}.${KeysOf<Texts[Name]>}`;
}[keyof Texts & string];

type WithoutPlural<Name> = Name extends `${infer Base}_${'one' | 'other'}` ? Base : Name;

/** The key of a text in the catalogue. */
export type TextKey = KeysOf<typeof english>;

type NameIn<Group extends string, Key = TextKey> = Key extends `${Group}.${infer Name}` ? Name : never;

/**
 * Returns the keys of all texts in a group. The result has a field for each text: `textKeysIn('chat.notices').deleted`
 * is `chat.notices.deleted`.
 */
export function textKeysIn<Group extends string>(group: Group): Readonly<Record<NameIn<Group>, TextKey>> {
  const texts = group.split('.').reduce<Record<string, object>>((part, name) => part[name] as typeof part, english);
  return Object.fromEntries(Object.keys(texts).map(name => [name, `${group}.${name}`])) as ReturnType<
    typeof textKeysIn<Group>
  >;
}

/** The German texts. A test compares their keys with the keys of the English texts. */
export const german = Object.fromEntries(
  Object.keys(english).map(part => [
    part,
    JSON.parse(readFileSync(new URL(`./de/${part}.json`, import.meta.url), 'utf8')),
  ]),
);

const catalogue = createInstance({
  resources: { en: { translation: english }, de: { translation: german } },
  supportedLngs: languages,
  fallbackLng: languages[0],
  nsSeparator: false,
  initAsync: false,
  parseMissingKeyHandler: key => {
    throw new Error(`The catalogue has no text ${key}`);
  },
});
await catalogue.init();

/** A text of the catalogue, and the same text split at its placeholders. */
interface Pattern {
  text: string;
  start: string;
  placeholders: { name: string; isNumber: boolean; rest: string }[];
}

/**
 * Caches the texts with their placeholders, by language, key and plural form. A page has many texts, and i18next needs
 * 2 µs for each text, or 20 µs for a plural.
 */
const patterns: Record<Language, Map<string, Pattern>> = { en: new Map(), de: new Map() };

const plurals = forEachLanguage(locale => new Intl.PluralRules(locale));

function patternOf(key: string, count?: TextValues[string]): Pattern {
  const plural = count === undefined ? undefined : { count: Number(count) };
  const form = plural ? `${key} ${plurals().select(plural.count)}` : key;
  const known = patterns[currentLanguage()];
  const pattern = known.get(form) ?? readPattern(key, plural);
  known.set(form, pattern);
  return pattern;
}

function readPattern(key: string, plural: { count?: number } = {}): Pattern {
  const text = catalogue.t(key, { ...plural, lng: currentLanguage(), nest: false, skipInterpolation: true });
  // The groups of the expression are in the result: the start, and then three items for each placeholder.
  const [start = '', ...parts] = text.split(/\{\{(\w+)(, number)?\}\}/);
  const placeholders: Pattern['placeholders'] = [];
  for (let index = 0; index < parts.length; index += 3) {
    const [name = '', number, rest = ''] = parts.slice(index);
    placeholders.push({ name, isNumber: number !== undefined, rest });
  }
  return { text, start, placeholders };
}

const numberFormats = forEachLanguage(locale => new Intl.NumberFormat(locale));

/**
 * Returns a text with its values. i18next selects the text, but this function inserts the values. For a text with
 * values, i18next would need 6 µs, and a board page has 100 such texts.
 */
function textOf(key: string, values: TextValues, show: (value: TextValues[string]) => string): string {
  const { start, placeholders } = patternOf(key, values.count);
  let text = start;
  for (const { name, isNumber, rest } of placeholders) {
    const value = values[name];
    if (value === undefined) throw new Error(`The text ${key} needs the value ${name}`);
    text += (isNumber ? numberFormats().format(Number(value)) : show(value)) + rest;
  }
  return text;
}

/** Returns a text in the language of the current reader. Returns markup if the key ends with _html. */
export function t<Key extends TextKey>(key: Key, values?: TextValues): Key extends `${string}_html` ? Html : string;
export function t(key: string, values?: TextValues): Html | string {
  const isMarkup = key.endsWith('_html');
  if (!values) return isMarkup ? new Html(patternOf(key).text) : patternOf(key).text;
  return isMarkup ? new Html(textOf(key, values, markupOf)) : textOf(key, values, String);
}

function markupOf(value: TextValues[string]): string {
  return value instanceof Html ? value.text : escapeHtml(String(value));
}
