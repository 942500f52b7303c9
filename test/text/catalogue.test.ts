import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { german, type TextKey, t } from '../../server/text/catalogue.ts';
import { english } from '../../server/text/en/catalogue.ts';
import { html } from '../../server/text/html.ts';
import { writeFor } from '../../server/text/language.ts';

const root = resolve(import.meta.dirname, '../../server');
const plural = /_(zero|one|two|few|many|other)$/;

interface Texts {
  [name: string]: string | Texts;
}

/** Returns the texts of a catalogue, each with its key. */
function textsOf(texts: Texts, path: readonly string[] = []): [key: string, text: string][] {
  return Object.entries(texts).flatMap(([name, text]) =>
    typeof text === 'string' ? [[[...path, name].join('.'), text]] : textsOf(text, [...path, name]),
  );
}

const inEnglish = new Map(textsOf(english));
const inGerman = new Map(textsOf(german));
const read = (pattern: string) =>
  globSync(pattern, { cwd: root }).map(file => ({ file, source: readFileSync(resolve(root, file), 'utf8') }));
const templates = read('**/*.eta');
const sources = [...templates, ...read('**/*.ts')].map(({ source }) => source);

/** The quoted strings that look like a key of the catalogue, in the code and in the templates. */
const namedKeys = new Set(
  sources.flatMap(source => [...source.matchAll(/['"`]([a-z]\w*(?:\.\w+)+)['"`]/g)].map(([, key]) => key)),
);
/** The first parts of keys that the code completes at run time, such as `refusals.` in `refusals.${key}`. */
const beginnings = sources.flatMap(source =>
  [...source.matchAll(/\bt\(\s*`([a-z]\w*\.[\w.]*)\$\{/g)].map(([, key]) => key as string),
);
/**
 * The groups of keys that the code uses to choose a text at run time. The code contains only the last part of such a
 * key, such as `saved`.
 */
const groups = new Set(
  sources.flatMap(source => [...source.matchAll(/\btextKeysIn\('([\w.]+)'\)/g)].map(([, group]) => group)),
);
/** The words in quotation marks or in query strings, such as `saved` in `?notice=saved`. */
const words = new Set(
  sources.flatMap(source => [...source.matchAll(/['"`=](\w+)(?=['"`&])/g)].map(([, word]) => word)),
);

function isUsed(key: string): boolean {
  const [, group, word] = /^(.+)\.(\w+)$/.exec(key) ?? [];
  const isInGroup = groups.has(group) && words.has(word);
  return isInGroup || namedKeys.has(key) || beginnings.some(beginning => key.startsWith(beginning));
}

/** Names that are equal in all languages. */
const properNames = ['Claude', 'Claude Code', 'Codex', 'Cursor', 'Idea-Board', 'URL', 'VS Code', 'ms'];

const headerOrMediaType = /^[a-z]+(?:[-/][a-z]+)+$/;

/** Returns the texts in single quotation marks in the code parts of a template. */
function literalsIn(template: string): string[] {
  return [...template.matchAll(/<%[\s\S]*?%>/g)].flatMap(([code]) =>
    [...code.matchAll(/'([^']*)'/g)].map(([, literal]) => literal as string),
  );
}

/** Returns the texts that a template contains: in elements, in attributes, and in string literals of its code. */
function textsIn(template: string): string[] {
  const markup = template.replace(/<%[\s\S]*?%>/g, '');
  const attributes = [...markup.matchAll(/\b(?:alt|aria-label|label|placeholder|title)="([^"]*)"/g)].map(
    ([, text]) => text as string,
  );
  // Leaves out code samples, which are the same in every language.
  const elements = markup.replace(/<(pre|code)\b[\s\S]*?<\/\1>/g, '').split(/<[^>]*>|\n/);
  // Keeps only string literals that look like sentences. Other literals are paths, names of fields and names of CSS
  // classes.
  const sentences = literalsIn(template).filter(literal => /^[A-Z][a-z]|[a-z] [a-z]+ [a-z]/.test(literal));
  return [...elements, ...attributes, ...sentences]
    .map(text => text.replace(/&\w+;|[^\w /-]/g, '').trim())
    .filter(text => /[A-Za-z]{2}/.test(text) && !properNames.includes(text) && !headerOrMediaType.test(text));
}

describe('The catalogue of texts', () => {
  it('every text of the text catalogue exists in English and in German', () => {
    expect([...inGerman.keys()].sort()).toEqual([...inEnglish.keys()].sort());
  });

  it('each German text of the text catalogue has the same placeholders and the same markup as the English text', () => {
    const partsOf = (text = '') =>
      [...text.matchAll(/\{\{\s*(\w+)|<\/?[a-z]+/g)].map(([all, name]) => name ?? all).sort();
    for (const [key, text] of inEnglish) expect([key, partsOf(inGerman.get(key))]).toEqual([key, partsOf(text)]);
  });

  it("a text of the text catalogue contains markup only if the text's key ends with _html", () => {
    for (const [key, text] of [...inEnglish, ...inGerman]) {
      expect([key, /[<>]|&\w+;/.test(text) && !key.replace(plural, '').endsWith('_html')]).toEqual([key, false]);
    }
  });

  it("every text of the text catalogue is in use: the code or a template contains the text's key or the key's beginning", () => {
    expect([...inEnglish.keys()].map(key => key.replace(plural, '')).filter(key => !isUsed(key))).toEqual([]);
  });

  it('every text key in a template exists in the text catalogue', () => {
    const keys = new Set([...inEnglish.keys()].map(key => key.replace(plural, '')));
    const isKey = new RegExp(`^(?:${Object.keys(english).join('|')})\\.[a-z_.]+$`);
    const named = templates.flatMap(({ source }) => literalsIn(source)).filter(literal => isKey.test(literal));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(key => !keys.has(key))).toEqual([]);
  });

  it('no template except the API reference contains text that is not from the text catalogue', () => {
    const found = templates
      // Leaves out the API reference, because it is always in English.
      .filter(({ file }) => file !== 'pages/documentation/documentation.eta')
      .flatMap(({ file, source }) => textsIn(source).map(text => `${file}: ${text}`));
    expect(found).toEqual([]);
  });

  it('a request for a key that the text catalogue does not contain throws an error', () => {
    expect(() => t('shell.missing' as TextKey)).toThrow('The catalogue has no text shell.missing');
  });

  it('a value in a text of the text catalogue cannot insert other values or texts through placeholders', () => {
    const label = '{{other}} $t(shell.next_page)';
    expect(t('shell.layout.atom_feed_html', { label, other: 'x' }).text).toContain('{{other}} $t(shell.next_page)');
  });

  it('the text catalogue escapes values in a text with markup, unless the values are already marked as HTML', () => {
    expect(t('shell.layout.atom_feed_html', { label: '<b>' }).text).toContain('&lt;b&gt;');
    expect(t('shell.layout.atom_feed_html', { label: html`<b>A</b>` }).text).toContain('<b>A</b>');
  });

  it("a text of the text catalogue is in the reader's language, even after an asynchronous wait", async () => {
    const inLanguage = (language: 'en' | 'de') =>
      writeFor({ language }, async () => {
        await Promise.resolve();
        return t('shell.next_page');
      });
    expect(await Promise.all([inLanguage('de'), inLanguage('en')])).toEqual(['Nächste Seite', 'Next page']);
    expect(t('shell.next_page')).toBe('Next page');
  });
});
