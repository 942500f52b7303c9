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
  link: { label: string; url: string };
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
  const quote = words.quote ? truncate(plainLines(words.quote), maxQuoteLength) : '';
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
${quote !== '' && html`<blockquote style="margin:16px 0;padding:0 16px;border-left:3px solid #d6d3d1;white-space:pre-wrap">${linkedText(quote)}</blockquote>`}
${url !== null && html`<p><a href="${url}">${words.link}</a></p>`}
<hr style="border:0;border-top:1px solid #d6d3d1">
<p style="font-size:13px;color:#57534e">${words.reason}<br><a href="${unsubscribeUrl}" style="color:#57534e">${words.ending}</a></p>`,
    ),
  };
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
