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
interface ShownTime {
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

/** The earliest time of an erasure, or undefined if nobody requested it. */
export function showErasure(requestedAt: string | null, graceHours: number): ShownTime | undefined {
  return requestedAt === null ? undefined : showTime(new Date(Date.parse(requestedAt) + graceHours * 3_600_000));
}
