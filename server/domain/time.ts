/** The clock is a dependency, so that tests can set the exact time. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** A time of the database as RFC 3339 in UTC. */
export function presentTime(time: string): string;
export function presentTime(time: string | null): string | null;
export function presentTime(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
