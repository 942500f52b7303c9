const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** How long to wait after each failed try: longer and longer, for about three days in all. */
const retryDelaysMs = [
  5_000,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  18 * hourMs,
  24 * hourMs,
];

/** When to try again after a number of failed tries; undefined when it is given up. */
export function retryDelayMs(failedTries: number): number | undefined {
  const delay = retryDelaysMs[failedTries - 1];
  return delay === undefined ? undefined : withJitter(delay);
}

const shortestPauseMs = 5_000;
const longestPauseMs = 5 * minuteMs;

/** How long what waits behind a failing endpoint's only try leaves it alone: the longer, the longer it fails. */
export function pauseMs(failingForMs: number): number {
  return withJitter(Math.min(Math.max(failingForMs, shortestPauseMs), longestPauseMs));
}

/** Up to a fifth more or less, so that what failed together does not come back together. */
function withJitter(ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * Math.random()));
}
