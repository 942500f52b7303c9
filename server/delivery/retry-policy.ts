const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

interface RetryPolicy {
  /**
   * The delays before the retries. The first delay follows the first failed try, the second delay the second, and so
   * on.
   */
  delaysMs: readonly number[];
  /**
   * The maximum random change of a delay, as a fraction. The random change spreads the retries of items that failed
   * together.
   */
  jitter: number;
  /**
   * The maximum age of an event at a retry. Until an event has this age, the last delay repeats. Then the server gives
   * up.
   */
  maxAgeMs?: number;
  /** The shortest delay that a Retry-After header can request. Without this field, Retry-After headers are ignored. */
  minRetryAfterMs?: number;
}

/**
 * The retry policies of webhooks and chats. Mail needs no policy: if a mail fails, its job fails, and graphile-worker
 * retries the job after e, e², … up to e¹⁰ seconds. A job has 25 tries by default. The code that adds the job for a
 * mail with an expiring link sets the number of tries.
 */
export const retryPolicies = {
  /** Ten tries in about three days. */
  webhook: {
    delaysMs: [
      5_000,
      5 * minuteMs,
      30 * minuteMs,
      2 * hourMs,
      5 * hourMs,
      10 * hourMs,
      14 * hourMs,
      18 * hourMs,
      24 * hourMs,
    ],
    jitter: 0.2,
  },
  /** The server gives up after a day, because an older event is of no use to a chat. */
  chat: {
    delaysMs: [10_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 2 * hourMs, 4 * hourMs],
    jitter: 0,
    maxAgeMs: 24 * hourMs,
    minRetryAfterMs: 1_000,
  },
} satisfies Record<string, RetryPolicy>;

interface FailedTry {
  /** The number of failed tries, including the last one. */
  failedTries: number;
  /** The delay that the receiver requested with a Retry-After header. */
  retryAfterMs?: number | undefined;
  /** The time since the event, in milliseconds. */
  ageMs?: number;
}

/** Returns the delay in milliseconds before the next try. Returns 'give up' if there must be no further try. */
export function nextTry(policy: RetryPolicy, { failedTries, retryAfterMs, ageMs = 0 }: FailedTry): number | 'give up' {
  const { delaysMs, jitter, maxAgeMs, minRetryAfterMs } = policy;
  const delayMs = delaysMs[failedTries - 1] ?? (maxAgeMs === undefined ? undefined : delaysMs.at(-1));
  if (delayMs === undefined) return 'give up';
  const isAskedFor = retryAfterMs !== undefined && minRetryAfterMs !== undefined;
  const nextMs = isAskedFor ? Math.max(retryAfterMs, minRetryAfterMs) : withJitter(delayMs, jitter);
  return ageMs + nextMs > (maxAgeMs ?? Number.POSITIVE_INFINITY) ? 'give up' : nextMs;
}

const shortestPauseMs = 5_000;
const longestPauseMs = 5 * minuteMs;

/**
 * The pause between tries at a failing endpoint. The longer the endpoint has been failing, the longer the pause, up to
 * five minutes. A random change of up to a fifth spreads the tries.
 */
export function pauseMs(failingForMs: number): number {
  const pause = Math.min(Math.max(failingForMs, shortestPauseMs), longestPauseMs);
  return withJitter(pause, retryPolicies.webhook.jitter);
}

function withJitter(ms: number, jitter: number): number {
  return Math.round(ms * (1 - jitter + 2 * jitter * Math.random()));
}
