import type { Clock } from '../../server/domain/time.ts';

/** A clock whose time changes only when a test sets or advances it. */
export interface TestClock extends Clock {
  set(time: Date | string): void;
  advance(milliseconds: number): void;
}

export function testClock(start: Date | string = new Date()): TestClock {
  let now = new Date(start);
  return {
    now: () => new Date(now),
    set: time => {
      now = new Date(time);
    },
    advance: milliseconds => {
      now = new Date(now.getTime() + milliseconds);
    },
  };
}

/**
 * Returns the start of the current hour. Some rate limits count requests in whole hours. A test whose clock starts at
 * this time stays within one such hour.
 */
export function startOfHour(): Date {
  const hour = 3_600_000;
  return new Date(Math.floor(Date.now() / hour) * hour);
}
