import type { Config } from '../../config.ts';
import { countLimit } from '../../domain/bounded-count.ts';
import { shortLine } from '../../text/plain-text.ts';

/** A name as a page shows it: on one line, without characters that could make it look like another name. */
export function shownName(name: string): string {
  return shortLine(name, 100, '(no name)');
}

/** A host with its port, in full, because the end of a host shows who owns it. */
export function shownHost(host: string): string {
  return shortLine(host, 260, '(no host)');
}

/** An e-mail address, which may contain nearly every character. */
export function shownAddress(email: string): string {
  return shortLine(email, 254, '(no address)');
}

const numbers = new Intl.NumberFormat('en-GB');

/** A count that stops at countLimit, with its noun: `1 idea`, `more than 1,000 ideas`. */
export function showCount(count: number, one: string, several = `${one}s`): string {
  if (count > countLimit) return `more than ${numbers.format(countLimit)} ${several}`;
  return `${numbers.format(count)} ${count === 1 ? one : several}`;
}

/** A time for people and for programs. */
export interface ShownTime {
  text: string;
  iso: string;
}

const times = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** Labels the time as UTC. Without a script the server does not know the reader's time zone. */
export function showTime(time: Date): ShownTime {
  return { text: `${times.format(time)} UTC`, iso: time.toISOString() };
}

/** A time from a column that may be null. */
export function showStored(time: string | null): ShownTime | undefined {
  return time === null ? undefined : showTime(new Date(time));
}

const hourMs = 3_600_000;

/** The earliest time of a user's erasure, or undefined if they did not ask for it. */
export function userErasedFrom(
  requestedAt: string | null,
  { USER_DELETION_GRACE_HOURS: hours }: Pick<Config, 'USER_DELETION_GRACE_HOURS'>,
): ShownTime | undefined {
  return requestedAt === null ? undefined : showTime(new Date(Date.parse(requestedAt) + hours * hourMs));
}

/** The earliest time of an account's erasure, or undefined if it is not scheduled. */
export function accountErasedFrom(
  scheduledAt: string | null,
  { ACCOUNT_DELETION_GRACE_DAYS: days }: Pick<Config, 'ACCOUNT_DELETION_GRACE_DAYS'>,
): ShownTime | undefined {
  return scheduledAt === null ? undefined : showTime(new Date(Date.parse(scheduledAt) + days * 24 * hourMs));
}
