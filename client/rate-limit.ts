/** Where the token, or the address, stands in the bucket that a request was charged to. */
export interface RateLimit {
  /** `apitoken:read`, `apitoken:write`, or `ip` for the limit of the client's address. */
  bucket: string | undefined;
  /** Requests in a window. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** Seconds until the window ends. */
  resetSeconds: number;
}

/** Reads what an answer says of the limit. Nothing in a browser whose server does not expose its headers. */
export function readRateLimit(headers: Headers): RateLimit | undefined {
  const [limit, remaining, resetSeconds] = ['limit', 'remaining', 'reset'].map(name =>
    wholeNumber(headers.get(`x-ratelimit-${name}`)),
  );
  if (limit === undefined || remaining === undefined || resetSeconds === undefined) return undefined;
  const bucket = /^"([^"]*)"/.exec(headers.get('ratelimit') ?? '')?.[1];
  return { bucket, limit, remaining, resetSeconds };
}

/** How long the server asks to wait, in milliseconds: Retry-After has seconds, or a date. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = wholeNumber(value);
  if (seconds !== undefined) return seconds * 1000;
  const until = Date.parse(value);
  // By the clock of the server, if it can be seen: this one's may be minutes off.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  return Number.isNaN(until) ? undefined : Math.max(0, until - now);
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text.trim()) ? Number(text) : undefined;
}
