import { shortLine } from '../../text/plain-text.ts';
import { writeLinkMail } from './link-mail.ts';
import type { MailContent } from './mail-content.ts';

interface AccountDeletionMail {
  /** As its owners wrote it. */
  name: string;
  slug: string;
  /** The end of the grace. */
  erasedFrom: Date;
  config: { BASE_URL: string };
}

/** A subject is cut where a list of mails would cut it anyway. */
const maxNameInSubject = 60;
const maxNameLength = 100;

/** In UTC, and saying so: nobody knows where the reader is. */
const timeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });

/** Writes what the owners of an account are sent when its deletion was scheduled. */
export function writeAccountDeletionMail({ name, slug, erasedFrom, config }: AccountDeletionMail): MailContent {
  const account = shortLine(name, maxNameLength, slug);
  return writeLinkMail({
    subject: `${shortLine(name, maxNameInSubject, slug)} is to be deleted from Idea-Board`,
    purpose: `The deletion of the account ${account} was scheduled. It stays as it is until ${timeFormat.format(erasedFrom)} UTC. From then on it may be erased for good, with its boards, ideas, votes, comments and members. Until then you can call it off, as an owner of it:`,
    link: { label: 'See the account', url: `${config.BASE_URL}/admin/account?account=${slug}` },
    otherwise: 'You know of it? Then there is nothing to do here.',
  });
}
