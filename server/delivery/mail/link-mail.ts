import { html } from '../../text/html.ts';
import type { MailContent } from './mail-content.ts';

/** The words of a mail with one link in it, of which nobody else has written anything. */
interface LinkMail {
  subject: string;
  purpose: string;
  link: { label: string; url: string };
  /** For whoever did not ask for it. */
  otherwise: string;
}

export function writeLinkMail({ subject, purpose, link, otherwise }: LinkMail): MailContent {
  return {
    subject,
    text: [purpose, link.url, otherwise].join('\n\n'),
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1c1917;background:#ffffff">
<p>${purpose}</p>
<p><a href="${link.url}">${link.label}</a></p>
<p style="font-size:13px;color:#57534e">${otherwise}</p>
</body>
</html>
`.text,
  };
}
