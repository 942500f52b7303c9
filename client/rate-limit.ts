/** The state of a rate limit, from the headers of a response. */
export interface RateLimit {
  /**
   * The name of the rate limit: `apitoken:read`, `apitoken:write`, or `ip` for the limit of the client's IP address.
   */
  bucket: string | undefined;
  /** The number of requests that are allowed in a time window. */
  limit: number;
  /** The number of requests that are still allowed in the current time window. */
  remaining: number;
  /** The number of seconds until the current time window ends. */
  resetSeconds: number;
}

/**
 * Reads the rate limit headers. Returns undefined if a header is missing, or if the browser hides the header from the
 * page.
 */
export function readRateLimit(headers: Headers): RateLimit | undefined {
  const [limit, remaining, resetSeconds] = ['limit', 'remaining', 'reset'].map(name =>
    wholeNumber(headers.get(`x-ratelimit-${name}`)),
  );
  if (limit === undefined || remaining === undefined || resetSeconds === undefined) return undefined;
  const bucket = /^"([^"]*)"/.exec(headers.get('ratelimit') ?? '')?.[1];
  return { bucket, limit, remaining, resetSeconds };
}

/** Reads the Retry-After header, whose value is a number of seconds or a date. Returns the delay in milliseconds. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = wholeNumber(value);
  if (seconds !== undefined) return seconds * 1000;
  const until = Date.parse(value);
  // If the response has a readable Date header, uses the server's clock, because the local clock may be minutes off.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text.trim()) ? Number(text) : undefined;
}
