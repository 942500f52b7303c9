import { LinkifyIt } from 'linkify-it';
import { type Html, type HtmlValue, html } from './html.ts';
import { highlightMentions } from './mentions.ts';
import { oneLine } from './plain-text.ts';

/**
 * Finds URLs that start with http:// or https://, including URLs with a user name. Finds no e-mail addresses. A closing
 * bracket, a quotation mark or a punctuation mark at the end of a URL belongs to the sentence around the URL.
 */
const urls = new LinkifyIt({ fuzzyEmail: false, urlAuth: true });
for (const schema of ['ftp:', 'mailto:', '//']) urls.add(schema, null);

/**
 * Turns plain text by a user into markup. The text is escaped, its URLs become links, and mentions of the given names are
 * highlighted. The style sheet keeps the line breaks. Search engines do not count the links as recommendations.
 */
export function linkedText(text: string, mentionedNames: readonly string[] = []): Html {
  const parts: HtmlValue[] = [];
  let end = 0;
  for (const { index, lastIndex, raw } of urls.match(text) ?? []) {
    const link = linkTo(raw);
    if (!link) continue;
    parts.push(highlightMentions(text.slice(end, index), mentionedNames), link);
    end = lastIndex;
  }
  return html`${parts}${highlightMentions(text.slice(end), mentionedNames)}`;
}

/**
 * Links a URL and shows the host name as browsers resolve it. A host name in another alphabet is shown in Punycode,
 * because its letters may look like the letters of another host name. Returns undefined for a URL that hides its host
 * behind a user name or control characters. Such a URL stays plain text. A URL runs from left to right, even in a text
 * that runs from right to left. Otherwise browsers would show the parts of the URL in another order.
 */
function linkTo(raw: string): Html | undefined {
  const url = URL.parse(raw);
  const hidesHost = url?.username !== '' || url.password !== '' || oneLine(raw) !== raw;
  if (hidesHost) return undefined;
  const rest = raw.replace(/^https?:\/\/[^/?#\\]*/i, '');
  return html`<a href="${url.href}" dir="ltr" rel="nofollow ugc noopener">${url.origin}${rest}</a>`;
}
