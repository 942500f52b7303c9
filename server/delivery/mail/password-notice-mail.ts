import { writeLinkMail } from './link-mail.ts';
import type { MailContent } from './mail-content.ts';

/** Writes what is sent to the address with which somebody signs in when another password was set. */
export function writePasswordNoticeMail({ BASE_URL }: { BASE_URL: string }): MailContent {
  return writeLinkMail({
    subject: 'Your password for Idea-Board was changed',
    purpose:
      'Another password was set for this address at Idea-Board, and whoever was signed in before is signed out. It was not you? Then set another password now: it signs everybody out.',
    link: { label: 'Set another password', url: `${BASE_URL}/admin/password-link` },
    otherwise: 'It was you? Then there is nothing to do here.',
  });
}
