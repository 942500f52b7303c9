const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

interface RetryPolicy {
  /** The delay after each failed try. */
  delaysMs: readonly number[];
  /** Delays vary by up to this share, so that items that failed together are not retried together. */
  jitter: number;
  /**
   * The item is given up if its next try would be later than this after the event. Until then the last delay repeats.
   */
  maxAgeMs?: number;
  /** The least delay that a Retry-After header can ask for. Without it the header is ignored. */
  minRetryAfterMs?: number;
}

/**
 * The retry policy of each channel. Mail has none here: its job fails, and graphile-worker retries a failed job after
 * e, e², … up to e¹⁰ seconds, 25 times by default. A mail with a link that expires gets fewer tries from the domain.
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
  /** A post is of no use to a chat after a day. */
  chat: {
    delaysMs: [10_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 2 * hourMs, 4 * hourMs],
    jitter: 0,
    maxAgeMs: 24 * hourMs,
    minRetryAfterMs: 1_000,
  },
} satisfies Record<string, RetryPolicy>;

interface FailedTry {
  /** Including this one. */
  failedTries: number;
  /** The delay that the receiver asked for. */
  retryAfterMs?: number | undefined;
  /** The time since the event. */
  ageMs?: number;
}

/** Returns the delay before the next try in milliseconds, or 'give up'. */
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

/** Returns the pause between two single tries of a failing endpoint. It grows with the duration of the failure. */
export function pauseMs(failingForMs: number): number {
  const pause = Math.min(Math.max(failingForMs, shortestPauseMs), longestPauseMs);
  return withJitter(pause, retryPolicies.webhook.jitter);
}

function withJitter(ms: number, jitter: number): number {
  return Math.round(ms * (1 - jitter + 2 * jitter * Math.random()));
}
