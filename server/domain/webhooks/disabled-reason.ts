import { t } from '../../text/catalogue.ts';
import { writeForRecords } from '../../text/language.ts';

/*
 * The reasons for a disabled webhook or chat channel. In the database, the command line and the audit log, they are in
 * English. On pages and in mails, they are in the language of the reader. The operator of the server may also write a
 * reason.
 */

const reasons = ['administrator', 'operator', 'token', 'gone', 'failing', 'chat_404', 'chat_410'] as const;
type DisabledReason = (typeof reasons)[number];

/** The server disables a webhook if every delivery fails for this number of days. */
export const maxFailingDays = 5;

function textOf(reason: DisabledReason): string {
  return t(`refusals.disabled.${reason}`, { days: maxFailingDays });
}

/** Returns the English text of a reason, for the database and the audit log. */
export function storedReason(reason: DisabledReason): string {
  return writeForRecords(() => textOf(reason));
}

/** Returns a stored reason in the language of the reader. A reason that the operator wrote stays as it is. */
export function shownReason(stored: string): string {
  const known = reasons.find(reason => storedReason(reason) === stored);
  return known === undefined ? stored : textOf(known);
}
