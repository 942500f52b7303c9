import { type HtmlValue, html } from './html.ts';

/*
 * A text mentions a member by an @ and the member's name. The constants below are the sources of regular expressions
 * with the flag u.
 */

/** Matches an @ that is not inside a word, an e-mail address or a URL. */
export const mentionMark = String.raw`(?<![\p{L}\p{N}\p{M}_.+/@-])@`;

/** Matches the end of a name: neither a letter nor a digit follows, not even after a hyphen. */
export const mentionEnd = String.raw`(?![\p{L}\p{N}\p{M}_]|-[\p{L}\p{N}])`;

/**
 * Highlights each mention of one of the names. If several names match at the same place, highlights the longest name.
 */
export function highlightMentions(text: string, names: readonly string[]): HtmlValue {
  if (names.length === 0) return text;
  const longestFirst = names.toSorted((a, b) => b.length - a.length).map(name => RegExp.escape(name));
  const mention = new RegExp(`(${mentionMark}(?:${longestFirst.join('|')})${mentionEnd})`, 'giu');
  // The pattern has a capturing group, so split() returns a mention as every second part.
  return text
    .split(mention)
    .map((part, index) => (index % 2 === 1 ? html`<span class="mention">${part}</span>` : part));
}
