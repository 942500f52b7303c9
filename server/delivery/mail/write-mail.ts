import { type NotificationSubject, wordsOf } from '../../domain/notifications/notification-words.ts';
import { html } from '../../text/html.ts';
import { currentLanguage, type Language } from '../../text/language.ts';
import { linkedText } from '../../text/linked-text.ts';
import { plainLines, truncate } from '../../text/plain-text.ts';

export interface MailContent {
  subject: string;
  text: string;
  html: string;
  language: Language;
}

/** The parts of a mail with one link, in the language of the reader. */
interface LinkMail {
  subject: string;
  /** An optional paragraph before the paragraph that explains the link. */
  sentence?: string;
  purpose: string;
  link: Link;
  /** The advice for a reader who did not ask for the mail. */
  otherwise: string;
}

export function writeLinkMail({ subject, sentence, purpose, link, otherwise }: LinkMail): MailContent {
  const paragraphs = sentence === undefined ? [purpose] : [sentence, purpose];
  return {
    subject,
    language: currentLanguage(),
    text: [...paragraphs, link.url, otherwise].join('\n\n'),
    html: pageOf(
      subject,
      html`${paragraphs.map(paragraph => html`<p>${paragraph}</p>\n`)}<p><a href="${link.url}">${link.label}</a></p>
<p style="font-size:13px;color:#57534e">${otherwise}</p>`,
    ),
  };
}

interface UnsubscribeLink {
  /** The URL of a page with more information, or null. */
  url: string | null;
  unsubscribeUrl: string;
}

interface NotificationMail extends NotificationSubject, UnsubscribeLink {}

/** A mail with an unsubscribe link, in the language of the reader. */
type SubscribedMail = ReturnType<typeof wordsOf> & UnsubscribeLink;

const maxQuoteLength = 1000;

export function writeNotificationMail(about: NotificationMail): MailContent {
  return writeSubscribedMail({ ...wordsOf(about), url: about.url, unsubscribeUrl: about.unsubscribeUrl });
}

/**
 * Writes a mail with an unsubscribe link in the language of the reader. The quoted text of a user keeps its lines. Each
 * line is marked as a quotation, so that it cannot imitate other parts of the mail. Most mail programs turn URLs in any
 * text into links. So this function makes the links of the quotation itself, and they show the real host.
 */
export function writeSubscribedMail({ url, unsubscribeUrl, ...words }: SubscribedMail): MailContent {
  const quote = quoteOf(words.quote, maxQuoteLength);
  return {
    subject: words.subject,
    language: currentLanguage(),
    text: [
      words.sentence,
      ...(quote ? [quote.replace(/^/gm, '> ')] : []),
      ...(url ? [`${words.link}:\n${url}`] : []),
      `-- \n${words.reason}\n${words.ending}: ${unsubscribeUrl}`,
    ].join('\n\n'),
    html: pageOf(
      words.subject,
      html`<p>${words.sentence}</p>
${quotation(quote)}
${url !== null && html`<p><a href="${url}">${words.link}</a></p>`}
<hr style="border:0;border-top:1px solid #d6d3d1">
<p style="font-size:13px;color:#57534e">${words.reason}<br><a href="${unsubscribeUrl}" style="color:#57534e">${words.ending}</a></p>`,
    ),
  };
}

interface Link {
  label: string;
  url: string;
}

/** The parts of a mail with several notifications, in the language of the reader. */
interface SummaryMail {
  subject: string;
  entries: readonly Pick<SubscribedMail, 'sentence' | 'quote' | 'link' | 'url'>[];
  more: Link;
  reason: string;
  settings: Link;
  ending: Link;
}

/** A summary quotes less of each text than a mail with one notification. */
const maxQuoteInSummary = 300;

/** Writes a mail with several notifications. The quotations have the same form as in a mail with one notification. */
export function writeSummaryMail({ subject, entries, more, reason, settings, ending }: SummaryMail): MailContent {
  const shown = entries.map(entry => ({ ...entry, quote: quoteOf(entry.quote, maxQuoteInSummary) }));
  return {
    subject,
    language: currentLanguage(),
    text: [
      ...shown.map(({ sentence, quote, link, url }) =>
        [`* ${sentence}`, ...(quote ? [quote.replace(/^/gm, '> ')] : []), ...(url ? [`${link}: ${url}`] : [])].join(
          '\n',
        ),
      ),
      `${more.label}:\n${more.url}`,
      `-- \n${reason}\n${settings.label}: ${settings.url}\n${ending.label}: ${ending.url}`,
    ].join('\n\n'),
    html: pageOf(
      subject,
      html`${shown.map(
        ({ sentence, quote, link, url }) => html`<p style="margin-bottom:4px">${sentence}</p>
${quotation(quote)}
${url !== null && html`<p style="margin-top:4px"><a href="${url}">${link}</a></p>`}
`,
      )}<p><a href="${more.url}">${more.label}</a></p>
<hr style="border:0;border-top:1px solid #d6d3d1">
<p style="font-size:13px;color:#57534e">${reason}<br>${[settings, ending].map(
        ({ label, url }, index) => html`${index > 0 && html`<br>`}<a href="${url}" style="color:#57534e">${label}</a>`,
      )}</p>`,
    ),
  };
}

function quoteOf(text: string | null, maxLength: number): string {
  return text ? truncate(plainLines(text), maxLength) : '';
}

function quotation(quote: string) {
  return (
    quote !== '' &&
    html`<blockquote style="margin:16px 0;padding:0 16px;border-left:3px solid #d6d3d1;white-space:pre-wrap">${linkedText(quote)}</blockquote>`
  );
}

function pageOf(subject: string, content: ReturnType<typeof html>): string {
  return html`<!doctype html>
<html lang="${currentLanguage()}">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1c1917;background:#ffffff">
${content}
</body>
</html>
`.text;
}
