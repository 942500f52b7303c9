import { type HtmlValue, html } from './html.ts';

/*
 * How a text mentions a member: @ and the name. The patterns are the sources of regular expressions with the flag u.
 */

/** An @ that is not in the middle of a word, an e-mail address or a URL. */
export const mentionMark = String.raw`(?<![\p{L}\p{N}\p{M}_.+/@-])@`;

/** The end of a name: no letter or digit follows, also not after a hyphen. */
export const mentionEnd = String.raw`(?![\p{L}\p{N}\p{M}_]|-[\p{L}\p{N}])`;

/** Marks each mention of one of the names. The longest name wins, because a name can be the beginning of another. */
export function highlightMentions(text: string, names: readonly string[]): HtmlValue {
  if (names.length === 0) return text;
  const longestFirst = names.toSorted((a, b) => b.length - a.length).map(name => RegExp.escape(name));
  const mention = new RegExp(`(${mentionMark}(?:${longestFirst.join('|')})${mentionEnd})`, 'giu');
  // The pattern has a group, so every second part is a mention.
  return text
    .split(mention)
    .map((part, index) => (index % 2 === 1 ? html`<span class="mention">${part}</span>` : part));
}
