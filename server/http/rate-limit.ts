import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Bucket, buckets } from '../../contract/limits.ts';
import type { Config } from '../config.ts';
import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { integer, sql, text, time } from '../database/sql.ts';

/** A rate limit counter in a fixed time window (specification: Limits). An example of its key is `ip:203.0.113.7`. */
export interface Counter {
  name: string;
  key: string;
  limit: number;
  windowSeconds: number;
  windowStartedAt: Date;
  expiresAt: Date;
}

export interface BucketState extends Counter {
  count: number;
  /** The number of seconds until the time window ends, at least 1. */
  resetSeconds: number;
}

export type Limits = Pick<Config, 'RATE_LIMIT_READ' | 'RATE_LIMIT_WRITE' | 'RATE_LIMIT_IP'>;

/** A token's own rate limits. Null means that the server's limit applies. */
export type OwnLimits = Readonly<Record<Bucket, number | null>>;

interface LimitedToken {
  tokenId: number;
  ownLimits: OwnLimits;
}

const ipWindowSeconds = 60;

/** A token's own limit can be lower than the server's limit, but not higher. */
export function tokenCounter(bucket: Bucket, { tokenId, ownLimits }: LimitedToken, limits: Limits, now: Date): Counter {
  const limit = Math.min(ownLimits[bucket] ?? Number.POSITIVE_INFINITY, serverLimitOf(bucket, limits));
  return openCounter(bucket, `${bucket}:${tokenId}`, limit, buckets[bucket].windowSeconds, now);
}

function serverLimitOf(bucket: Bucket, limits: Limits): number {
  return bucket === 'apitoken:read' ? limits.RATE_LIMIT_READ : limits.RATE_LIMIT_WRITE;
}

export function ipCounter(ip: string | undefined, limits: Limits, now: Date): Counter {
  return openCounter('ip', `ip:${networkOf(ip)}`, limits.RATE_LIMIT_IP, ipWindowSeconds, now);
}

export function openCounter(name: string, key: string, limit: number, windowSeconds: number, now: Date): Counter {
  const windowMs = windowSeconds * 1000;
  const start = Math.floor(now.getTime() / windowMs) * windowMs;
  return {
    name,
    key,
    limit,
    windowSeconds,
    windowStartedAt: new Date(start),
    expiresAt: new Date(start + windowMs),
  };
}

/**
 * Returns an IPv4 address, or the /64 network of an IPv6 address. Internet providers give each customer at least a /64.
 * If the client reset the connection before the server accepted it, `ip` is undefined. All requests without an IP
 * address share one counter.
 */
export function networkOf(ip: string | undefined): string {
  const address = addressOf(ip);
  if (address === null) return 'unknown';
  if (isIPv4(address)) return address;
  const { parts } = ipaddr.IPv6.parse(address);
  return `${parts
    .slice(0, 4)
    .map(part => part.toString(16))
    .join(':')}::/64`;
}

/** Returns the IP address of a client. An IPv4-mapped IPv6 address becomes the IPv4 address. */
export function addressOf(ip: string | undefined): string | null {
  if (ip === undefined) return null;
  if (isIPv4(ip)) return ip;
  const [plain = ''] = ip.split('%', 1);
  // A trusted proxy may forward text that is not an IP address.
  return isIPv6(plain) ? ipaddr.process(plain).toString() : null;
}

export function stateOf(counter: Counter, count: number, now: Date): BucketState {
  const resetSeconds = Math.max(1, Math.ceil((counter.expiresAt.getTime() - now.getTime()) / 1000));
  return { ...counter, count, resetSeconds };
}

export function isExhausted(state: BucketState): boolean {
  return state.count > state.limit;
}

export function remainingOf(state: BucketState): number {
  return Math.max(0, state.limit - state.count);
}

export interface HeaderSetter {
  header(name: string, value: string | number): unknown;
}

/**
 * Sets the rate limit headers of an answer: two headers of the IETF draft about rate limit headers, and three headers
 * with older names.
 */
export function setRateLimitHeaders(reply: HeaderSetter, state: BucketState) {
  const remaining = remainingOf(state);
  reply.header('RateLimit-Policy', `"${state.name}";q=${state.limit};w=${state.windowSeconds}`);
  reply.header('RateLimit', `"${state.name}";r=${remaining};t=${state.resetSeconds}`);
  reply.header('X-RateLimit-Limit', state.limit);
  reply.header('X-RateLimit-Remaining', remaining);
  reply.header('X-RateLimit-Reset', state.resetSeconds);
}

/** Sets the rate limit headers of the answer 429, with Retry-After. */
export function setExceededHeaders(reply: HeaderSetter, state: BucketState) {
  setRateLimitHeaders(reply, state);
  reply.header('Retry-After', state.resetSeconds);
}

/**
 * Increases rate limit counters. The caller's SQL defines the table charge(key, window_started_at, expires_at), with
 * one row for each request to count. The statement locks counters in the order of their keys, so that two statements
 * cannot deadlock. The start of a window never moves back, although the clocks of servers differ a little.
 */
export const chargeCounters = `
  insert into rate_limits as r (key, window_started_at, expires_at, count)
  select key, max(window_started_at), max(expires_at), count(*) from charge group by key order by key
  on conflict (key) do update
    set count = excluded.count + case when r.window_started_at >= excluded.window_started_at then r.count else 0 end,
        window_started_at = greatest(r.window_started_at, excluded.window_started_at),
        expires_at = greatest(r.expires_at, excluded.expires_at)
  returning key, count`;

const chargeOne = sql(
  'charge_counter',
  { arguments: { key: text(), windowStartedAt: time(), expiresAt: time() }, row: { count: integer() } },
  `with charge (key, window_started_at, expires_at) as (
    select $key::text, $windowStartedAt::timestamptz, $expiresAt::timestamptz
  ),
  charged as (${chargeCounters})
  select count from charged`,
);

export async function charge(database: Queryable, counter: Counter, now: Date): Promise<BucketState> {
  const [row] = await database.query(chargeOne, counter);
  return stateOf(counter, row?.count ?? 0, now);
}

/**
 * Marks a one-time item as used, such as a form or the answer of a provider. Returns false if the item was used before.
 * If two transactions call this function at the same time, the second waits for the first. If the first transaction
 * rolls back, the second succeeds.
 */
export async function useOnce(
  database: Queryable,
  { kind, id, expiresAt }: { kind: string; id: string; expiresAt: Date },
  now: Date,
): Promise<boolean> {
  // The time window of this counter has a constant start, so that the first and the second use always count in the same
  // window.
  const window = { windowSeconds: 0, windowStartedAt: new Date(0), expiresAt };
  return !isExhausted(await charge(database, { name: kind, key: `${kind}:${id}`, limit: 1, ...window }, now));
}

const refundCounter = query('refund_counter', (db, $: Arguments<{ key: string; windowStartedAt: Date }>) =>
  db
    .updateTable('rate_limits')
    .set(counter => ({ count: counter('count', '-', 1) }))
    .where('key', '=', $.key)
    .where('window_started_at', '=', $.windowStartedAt)
    .where('count', '>', 0),
);

export async function refund(database: Queryable, state: BucketState): Promise<BucketState> {
  await database.query(refundCounter, state);
  return { ...state, count: state.count - 1 };
}

const readCounters = query('read_counters', (db, $: Arguments<{ keys: readonly string[]; now: Date }>) =>
  db
    .selectFrom('rate_limits')
    .select(['key', 'count'])
    .where(counter => counter('key', '=', counter.fn.any($.keys)))
    .where('expires_at', '>', $.now),
);

export async function peek(database: Queryable, counters: Counter[], now: Date): Promise<BucketState[]> {
  const rows = await database.query(readCounters, { keys: counters.map(({ key }) => key), now });
  const counts = new Map(rows.map(({ key, count }) => [key, count]));
  return counters.map(counter => stateOf(counter, counts.get(counter.key) ?? 0, now));
}
