/** The source of the current time. Tests replace it to set an exact time. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Formats a time from the database as RFC 3339 in UTC. */
export function presentTime(time: string): string;
export function presentTime(time: string | null): string | null;
export function presentTime(time: string | null): string | null {
  if (time === null) return null;
  const [, day, second, fraction = ''] = utcTime.exec(time) ?? [];
  return day ? `${day}T${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z` : new Date(time).toISOString();
}

/** A time as PostgreSQL writes it in the time zone UTC. Parsing it with Date would take five times as long. */
const utcTime = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;
