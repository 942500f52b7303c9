import type { Clock } from '../../server/domain/time.ts';

/** A clock that changes only when a test sets it. */
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
