import { writeLinkMail } from './link-mail.ts';
import type { MailContent } from './mail-content.ts';

/** Writes the mail with a link by which somebody sets a password. It says nothing of who asked for it. */
export function writePasswordLinkMail({ url, minutes }: { url: string; minutes: number }): MailContent {
  return writeLinkMail({
    subject: 'Set your password for Idea-Board',
    purpose: `With this link you choose your password. It works once, within ${minutes} minutes:`,
    link: { label: 'Choose a password', url },
    otherwise: 'You did not ask for it? Then do nothing: your password stays as it is.',
  });
}
