/** The source of the current time. Tests replace it to set an exact time. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Formats a time from the database as RFC 3339 in UTC. */
export function presentTime(time: string): string;
export function presentTime(time: string | null): string | null;
export function presentTime(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
