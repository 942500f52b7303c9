import { html } from '../../html.ts';
import type { MailContent } from './mail-content.ts';

/** Writes the mail with a link by which somebody sets a password. It says nothing of who asked for it. */
export function writePasswordLinkMail({ url, minutes }: { url: string; minutes: number }): MailContent {
  const subject = 'Set your password for Idea-Board';
  const purpose = `With this link you choose your password. It works once, within ${minutes} minutes:`;
  const otherwise = 'You did not ask for it? Then do nothing: your password stays as it is.';
  return {
    subject,
    text: [purpose, url, otherwise].join('\n\n'),
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1c1917;background:#ffffff">
<p>${purpose}</p>
<p><a href="${url}">Choose a password</a></p>
<p style="font-size:13px;color:#57534e">${otherwise}</p>
</body>
</html>
`.text,
  };
}
