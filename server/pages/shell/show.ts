import { countLimit } from '../../domain/bounded-count.ts';
import { placeholderName } from '../../domain/erasure/placeholder.ts';
import { hasOwnAddress } from '../../domain/identities/own-address.ts';
import { type TextKey, type TextValues, t } from '../../text/catalogue.ts';
import { forEachLanguage } from '../../text/language.ts';
import { shortLine } from '../../text/plain-text.ts';

/**
 * Formats a name for a page: on one line, without characters that could make the name look like another name. Translates
 * the name of all erased users.
 */
export function shownName(name: string): string {
  if (name === placeholderName) return t('shell.missing.user');
  return shortLine(name, 100, t('shell.missing.name'));
}

/** Formats a host name with its port. Does not shorten a host name, because the end of the name shows who owns it. */
export function shownHost(host: string): string {
  return shortLine(host, 260, t('shell.missing.host'));
}

/**
 * Formats an e-mail address. The server made up the address of a user who can sign in only through an identity provider
 * or an embedding website. Shows no address for such a user.
 */
export function shownAddress(email: string): string {
  if (!hasOwnAddress({ email })) return t('shell.missing.address');
  return shortLine(email, 254, t('shell.missing.address'));
}

const numbers = forEachLanguage(locale => new Intl.NumberFormat(locale));

/**
 * Returns a text with a count, such as `{{shown}} ideas`. The placeholder `shown` stands for the count in the reader's
 * language. Counts above countLimit are not exact: `more than 1,000 ideas`.
 */
export function showCount<Key extends TextKey>(key: Key, count: number, values: TextValues = {}) {
  const shown = count > countLimit ? t('shell.counts.more_than', { limit: countLimit }) : numbers().format(count);
  return t(key, { ...values, count, shown });
}

const lists = forEachLanguage(locale => new Intl.ListFormat(locale));

/** Formats a list: `one, two and three`. */
export function showList(items: readonly string[]): string {
  return lists().format(items);
}

interface ShownTime {
  text: string;
  iso: string;
}

const times = forEachLanguage(
  locale => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
);

/** Formats a time in UTC with the text "UTC", because the server does not know the reader's time zone. */
export function showTime(time: Date): ShownTime {
  return { text: `${times().format(time)} UTC`, iso: time.toISOString() };
}

export function showStored(time: string | null): ShownTime | undefined {
  return time === null ? undefined : showTime(new Date(time));
}

/**
 * Formats the earliest time when the server erases a user or an account. Returns undefined if nobody requested the
 * erasure.
 */
export function showErasure(requestedAt: string | null, graceHours: number): ShownTime | undefined {
  return requestedAt === null ? undefined : showTime(new Date(Date.parse(requestedAt) + graceHours * 3_600_000));
}
