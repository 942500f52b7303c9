/** The state of the rate limit that counted a request. */
export interface RateLimit {
  /** `apitoken:read`, `apitoken:write`, or `ip` for the limit of the client's IP address. */
  bucket: string | undefined;
  /** The number of allowed requests in a window. */
  limit: number;
  /** The number of remaining requests in the current window. */
  remaining: number;
  /** Seconds until the window ends. */
  resetSeconds: number;
}

/** Reads the rate limit of a response. Undefined in a browser if the server does not expose the headers. */
export function readRateLimit(headers: Headers): RateLimit | undefined {
  const [limit, remaining, resetSeconds] = ['limit', 'remaining', 'reset'].map(name =>
    wholeNumber(headers.get(`x-ratelimit-${name}`)),
  );
  if (limit === undefined || remaining === undefined || resetSeconds === undefined) return undefined;
  const bucket = /^"([^"]*)"/.exec(headers.get('ratelimit') ?? '')?.[1];
  return { bucket, limit, remaining, resetSeconds };
}

/** Reads Retry-After, which has seconds or a date, as milliseconds. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = wholeNumber(value);
  if (seconds !== undefined) return seconds * 1000;
  const until = Date.parse(value);
  // Uses the clock of the server if its Date header is visible, because the local clock may be minutes off.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text.trim()) ? Number(text) : undefined;
}
