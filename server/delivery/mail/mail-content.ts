import { type NotificationSubject, wordsOf } from '../../domain/notifications/notification-words.ts';
import { html } from '../../text/html.ts';
import { oneLine, truncate } from '../../text/plain-text.ts';

/** What the mail of a notification says; urls are ours. */
export interface MailSubject extends NotificationSubject {
  /** Where to read more. */
  url: string | null;
  unsubscribeUrl: string;
}

export interface MailContent {
  subject: string;
  text: string;
  html: string;
}

const maxQuoteLength = 1000;

/** Writes the mail of a notification, as plain text and as HTML. */
export function writeMail(about: MailSubject): MailContent {
  const words = wordsOf(about);
  const quote = words.quote ? truncate(oneLine(words.quote), maxQuoteLength) : '';
  return {
    subject: words.subject,
    text: [
      words.sentence,
      ...(quote ? [`> ${quote}`] : []),
      ...(about.url ? [`${words.link}:\n${about.url}`] : []),
      `-- \n${words.reason}\n${words.ending}: ${about.unsubscribeUrl}`,
    ].join('\n\n'),
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${words.subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1c1917;background:#ffffff">
<p>${words.sentence}</p>
${quote !== '' && html`<blockquote style="margin:16px 0;padding:0 16px;border-left:3px solid #d6d3d1">${quote}</blockquote>`}
${about.url !== null && html`<p><a href="${about.url}">${words.link}</a></p>`}
<hr style="border:0;border-top:1px solid #d6d3d1">
<p style="font-size:13px;color:#57534e">${words.reason}<br><a href="${about.unsubscribeUrl}" style="color:#57534e">${words.ending}</a></p>
</body>
</html>
`.text,
  };
}
