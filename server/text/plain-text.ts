import { t } from './catalogue.ts';

/*
 * Makes texts safe for pages, mails and chats, because anybody can write titles and names. Before escaping, these
 * functions reduce a text to one line of limited length without control characters.
 */

/**
 * Control characters, line ends and marks that change the direction of text. With these characters, a title could
 * imitate another title.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: oneLine removes these characters.
const control = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/**
 * Matches a text that has only invisible characters. Beside visible characters, invisible ones are allowed, because
 * they join letters and emoji.
 */
const blank = /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** White space other than a single space. */
const manySpaces = /\s{2,}|[^\S ]/g;

/** Returns the text on one line. Returns an empty text if all characters are invisible. */
export function oneLine(text: string): string {
  const line = text.replace(control, ' ').replace(manySpaces, ' ').trim();
  return blank.test(line) ? '' : line;
}

/** Returns the lines of a text without control characters. Keeps at most one empty line between two lines. */
export function plainLines(text: string): string {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/).map(oneLine);
  return lines
    .filter((line, index) => line !== '' || lines[index - 1] !== '')
    .join('\n')
    .trim();
}

/** Invisible and control characters that must not appear in a text of several lines. Tabs and line feeds may appear. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: visibleText escapes these characters.
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Returns a text of another program, with each control character as a visible escape such as \u202e. */
export function visibleText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(invisible, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Cuts a text to `max` code points, so that no character is cut in half. Adds an ellipsis to a cut text. */
export function truncate(text: string, max: number): string {
  // A text never has more code points than UTF-16 code units, so this text is short enough.
  if (text.length <= max) return text;
  let [end, next] = [0, 0];
  for (let count = 0; count < max; count++) {
    end = next;
    next += (text.codePointAt(next) ?? 0) > 0xffff ? 2 : 1;
  }
  return next < text.length ? `${text.slice(0, end).trimEnd()}…` : text;
}

/** Returns the text on one line of at most `max` code points. Returns `otherwise` if all characters are invisible. */
export function shortLine(text: string, max: number, otherwise = t('shell.missing.title')): string {
  return truncate(oneLine(text), max) || otherwise;
}
