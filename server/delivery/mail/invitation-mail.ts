import { asRole, type Role } from '../../entities/membership.ts';
import { html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import type { MailContent } from './mail-content.ts';

interface InvitationMail {
  account: string;
  role: Role;
  /** Null for the operator of the server. */
  inviter: string | null;
  url: string;
  days: number;
}

/** A subject is cut where a list of mails would cut it anyway. */
const maxNameInSubject = 60;
const maxNameLength = 100;

/** Writes the mail with the link of an invitation. Names are as their owners wrote them. */
export function writeInvitationMail({ account, role, inviter, url, days }: InvitationMail): MailContent {
  const who = inviter === null ? 'The operator' : shortLine(inviter, maxNameLength, 'Somebody');
  const where = shortLine(account, maxNameLength, 'an account');
  const subject = `Join ${shortLine(account, maxNameInSubject, 'an account')} on Idea-Board`;
  const sentence = `${who} invites you to ${where} on Idea-Board, as ${asRole[role]}.`;
  const purpose = `With this link you join. It works once, within ${days} days:`;
  const otherwise = 'You did not expect it? Then do nothing: without the link nothing happens.';
  return {
    subject,
    text: [sentence, `${purpose}\n${url}`, otherwise].join('\n\n'),
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1c1917;background:#ffffff">
<p>${sentence}</p>
<p>${purpose}</p>
<p><a href="${url}">See the invitation</a></p>
<p style="font-size:13px;color:#57534e">${otherwise}</p>
</body>
</html>
`.text,
  };
}
