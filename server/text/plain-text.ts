/*
 * Titles, names and comments are written by anybody and read in mail and chat. Before they are escaped for the syntax of
 * the place where they are shown, they become one line of bounded length without invisible characters that steer.
 */

/** Control characters, line ends, and those that turn the direction of text, with which a title could pass for another. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out.
const steering = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g;

/** Nothing but what is not drawn, such as spaces of no width, which between others join letters and emoji. */
const blank = /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Text on one line; empty where nothing can be seen of it. */
export function oneLine(text: string): string {
  const line = text.replace(steering, ' ').replace(/\s+/g, ' ').trim();
  return blank.test(line) ? '' : line;
}

/** The same characters, but for the ends of lines and tabs, which lay out a text of several lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is written out.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** What a program sent, to be shown as it is: what is not seen of it, or steers, is written out, such as \u202e. */
export function visibleText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(unseen, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** At most max code points, so that no character is cut in half; the last one is an ellipsis when something is left out. */
export function truncate(text: string, max: number): string {
  // What is short in UTF-16 is no longer in code points.
  if (text.length <= max) return text;
  const characters = [...text];
  if (characters.length <= max) return text;
  return `${characters
    .slice(0, max - 1)
    .join('')
    .trimEnd()}…`;
}

/** One line of at most max code points, or the words that stand in for a text of which nothing can be seen. */
export function shortLine(text: string, max: number, otherwise = '(untitled)'): string {
  return truncate(oneLine(text), max) || otherwise;
}
