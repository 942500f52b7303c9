/** The time, as a dependency, so that the edges of a window can be tested exactly. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
