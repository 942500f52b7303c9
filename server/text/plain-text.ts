/*
 * Anybody can write titles, names and comments, which are shown in mail, chats and pages. Before they are escaped, they
 * become one line of limited length without control characters.
 */

/** Control characters, line ends and marks of text direction. With these a title could imitate another. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: oneLine removes these characters.
const control = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/**
 * Text with only invisible characters, such as zero-width spaces. Between visible characters they join letters and
 * emoji.
 */
const blank = /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Returns the text on one line; empty if all of it is invisible. */
export function oneLine(text: string): string {
  const line = text.replace(control, ' ').replace(/\s+/g, ' ').trim();
  return blank.test(line) ? '' : line;
}

/** The same characters except tabs and line feeds, which lay out a text of several lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: visibleText escapes these characters.
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Shows the text of a program literally: control characters become escapes, such as \u202e. */
export function visibleText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(invisible, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Cuts a text to `max` code points, so that no character is cut in half. The last one of a cut text is an ellipsis. */
export function truncate(text: string, max: number): string {
  // A text never has more code points than UTF-16 code units.
  if (text.length <= max) return text;
  const characters = [...text];
  if (characters.length <= max) return text;
  return `${characters
    .slice(0, max - 1)
    .join('')
    .trimEnd()}…`;
}

/** Returns one line of at most `max` code points, or `otherwise` if the text is invisible. */
export function shortLine(text: string, max: number, otherwise = '(untitled)'): string {
  return truncate(oneLine(text), max) || otherwise;
}
