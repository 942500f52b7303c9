import { hash, timingSafeEqual } from 'node:crypto';
import type { Bucket } from '../../contract/limits.ts';
import type { Route } from '../../contract/routes.ts';
import type { Config } from '../config.ts';
import { coalesceCalls } from '../database/coalesce-calls.ts';
import type { Queryable } from '../database/database.ts';
import { parseTokenText } from '../domain/tokens/token-text.ts';
import { findTokens, ownLimitsOf, type Principal, principalOf, type TokenRow } from './find-tokens.ts';
import { primaryReadMsOf } from './primary-reads.ts';
import { mcpUrlOf } from './public-addresses.ts';
import {
  addressOf,
  type BucketState,
  type Counter,
  type Limits,
  type OwnLimits,
  stateOf,
  tokenCounter,
} from './rate-limit.ts';

/** The answer that is stored for an Idempotency-Key, with the fingerprint of the answered request. */
export interface StoredAnswer {
  fingerprint: Buffer;
  status: number;
  body: string;
}

/** An Idempotency-Key with the path of its request. The same key with another path counts as another key. */
export interface Idempotency {
  path: string;
  key: string;
}

/**
 * Returns the path of a request with an Idempotency-Key. Every spelling of the path gives the same result, such as
 * `/api/v1/ideas/42` and `/api/v1/%69deas/042`.
 */
export function idempotencyPathOf({ path }: Pick<Route, 'path'>, params: unknown): string {
  const ids = params as Record<string, unknown>;
  return path.replace(/:(\w+)/g, (_, name: string) => String(Number(ids[name])));
}

export interface TokenLookup {
  authorization: string | undefined;
  /**
   * Whether the endpoint accepts OAuth access tokens. Only the MCP endpoint does (specification: Authentication, 9).
   */
  acceptsOauth: boolean;
  ip: Counter;
  bucket: Bucket | undefined;
  idempotency: Idempotency | undefined;
  /** The IP address of the client. */
  address: string | undefined;
  /**
   * The settings of the rate limits and of the read replica, and BASE_URL, which gives the audience of OAuth access
   * tokens.
   */
  config: Limits &
    Pick<Config, 'BASE_URL' | 'DATABASE_READ_URL' | 'DATABASE_READ_MAX_LAG_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS'>;
  now: Date;
}

/** The reason of a failed authentication, for the audit log. Clients do not get the reason. */
export type AuthenticationFailure =
  | { reason: 'missing' | 'malformed' | 'unknown' | 'access_token' }
  | { reason: 'wrong_secret' | 'revoked' | 'expired'; tokenId: number; accountId: number };

export interface LookupResult {
  ip: BucketState;
  /** The principal of the request. Null if the bearer token is invalid. */
  principal: Principal | null;
  /** The reason why the bearer token is invalid. Null if it is valid. */
  failure: AuthenticationFailure | null;
  /**
   * The rate limit of the token. Null if the request was not counted. There are four reasons not to count a request:
   * the token is invalid, the token does not allow the request's network, the route has no limit, or the answer is
   * stored.
   */
  bucket: BucketState | null;
  storedAnswer: StoredAnswer | null;
}

interface Lookup extends TokenLookup {
  credential: Credential;
}

/**
 * The maximum number of batches that run at the same time. While the result of one batch is on its way to this server,
 * PostgreSQL can work on the other batch. Batches are small, so that no request waits for a long SQL statement.
 */
const batches = { maxUnderWay: 2, maxBatchSize: 64, patienceMs: 100 };

const queues = new WeakMap<Queryable, (lookup: Lookup) => Promise<LookupResult>>();

/**
 * Finds the token of an Authorization header and counts the request against the rate limits. Lookups that arrive at the
 * same time are combined into batches, to save round trips. Two requests of one batch do not wait for each other's lock
 * on the counter of their IP address. Batches reduced PostgreSQL's work for reading one idea by a quarter.
 */
export async function lookUpToken(database: Queryable, lookup: TokenLookup): Promise<LookupResult> {
  const lookUp = queues.get(database) ?? coalesceCalls(lookups => lookUpTokens(database, lookups), batches);
  queues.set(database, lookUp);
  return lookUp({ ...lookup, credential: readCredential(lookup) });
}

const noHash = Buffer.alloc(32);
const noOwnLimits: OwnLimits = { 'apitoken:read': null, 'apitoken:write': null };

async function lookUpTokens(database: Queryable, lookups: Lookup[]): Promise<LookupResult[]> {
  const counters = lookups.map(({ ip }) => ip);
  const rows = await database.query(findTokens, argumentsOf(lookups, counters));
  const counts = { ...rows[0]?.counts };
  const rowsByPlace = new Map(rows.map(row => [row.place, row]));

  // The statement increases each counter once, by the number of the counter's requests in the batch. The last request
  // gets the new count, and each earlier request gets one less than the request after it.
  const takeCount = (key: string) => {
    const count = counts[key];
    if (count === undefined) throw new Error('find_tokens left a counter out');
    counts[key] = count - 1;
    return count;
  };
  const answers: LookupResult[] = [];
  for (const [index, lookup] of [...lookups.entries()].reverse()) {
    answers[index] = resultOf(lookup, rowsByPlace.get(index + 1), takeCount);
  }
  return answers;
}

type Uncounted = Omit<Lookup, 'ip'>;

function argumentsOf(lookups: Uncounted[], counters: Counter[]) {
  // The tokens are not known yet. The id 0 gives the right time window, because the window is the same for every token.
  const windows = lookups.map(lookup => counterOf(lookup, { tokenId: 0, ownLimits: noOwnLimits }));
  return {
    tokenIds: lookups.map(({ credential }) => (credential.kind === 'api' ? credential.tokenId : null)),
    hashes: lookups.map(({ credential }) => (credential.kind === 'api' ? credential.hash : null)),
    accessHashes: lookups.map(({ credential }) => (credential.kind === 'access' ? credential.hash : null)),
    audiences: lookups.map(({ credential, config }) => (credential.kind === 'access' ? mcpUrlOf(config) : null)),
    times: lookups.map(({ now }) => now.toISOString()),
    buckets: lookups.map(({ bucket }) => bucket ?? null),
    bucketsStartedAt: windows.map(window => window?.windowStartedAt.toISOString() ?? null),
    bucketsExpireAt: windows.map(window => window?.expiresAt.toISOString() ?? null),
    paths: lookups.map(({ idempotency }) => idempotency?.path ?? null),
    idempotencyKeys: lookups.map(({ idempotency }) => idempotency?.key ?? null),
    addresses: lookups.map(({ address }) => addressOf(address)),
    counters: counters.map(({ key }) => key),
    countersStartedAt: counters.map(({ windowStartedAt }) => windowStartedAt.toISOString()),
    countersExpireAt: counters.map(({ expiresAt }) => expiresAt.toISOString()),
    primaryReadMs: lookups[0] ? primaryReadMsOf(lookups[0].config) : 0,
  };
}

/** Finds the principal of an Authorization header, without counting a request. Returns null if the token is invalid. */
export async function findPrincipal(
  database: Queryable,
  given: Pick<TokenLookup, 'authorization' | 'acceptsOauth' | 'address' | 'config' | 'now'>,
): Promise<Principal | null> {
  const credential = readCredential(given);
  const lookup = { ...given, credential, bucket: undefined, idempotency: undefined };
  const [row] = await database.query(findTokens, argumentsOf([lookup], []));
  if (!row || row.place === null || credential.kind === 'none') return null;
  const match = matchSecret(row, credential.hash);
  return row.is_usable && match ? principalOf(row, match.expiresAt) : null;
}

function counterOf({ bucket, config, now }: Uncounted, token: Parameters<typeof tokenCounter>[1]): Counter | undefined {
  return bucket && tokenCounter(bucket, token, config, now);
}

/**
 * Compares the hash of a secret with the hashes of the token. Returns undefined for a wrong secret. If the token has a
 * newer secret, `expiresAt` is the time when the given secret stops working. The function also compares hashes for an
 * unknown token. Otherwise the response time would show which ids exist.
 */
function matchSecret(row: TokenRow | undefined, hash: Buffer): { expiresAt: string | null } | undefined {
  const isCurrent = timingSafeEqual(row?.secret_hash ?? noHash, hash);
  const isPrevious = timingSafeEqual(row?.previous_secret_hash ?? noHash, hash);
  if (row && isCurrent) return { expiresAt: null };
  return row?.previous_secret_hash && isPrevious ? { expiresAt: row.previous_secret_expires_at } : undefined;
}

function resultOf(lookup: Lookup, row: TokenRow | undefined, takeCount: (key: string) => number): LookupResult {
  const { credential, now } = lookup;
  const ip = stateOf(lookup.ip, takeCount(lookup.ip.key), now);
  const counter = row?.is_charged ? counterOf(lookup, { tokenId: row.id, ownLimits: ownLimitsOf(row) }) : undefined;
  const bucket = counter ? stateOf(counter, takeCount(counter.key), now) : null;
  const match = matchSecret(row, credential.kind === 'none' ? noHash : credential.hash);
  if (!row || !match || !row.is_usable) {
    const failure = failureOf(credential, row, match !== undefined);
    return { ip, principal: null, failure, bucket: null, storedAnswer: null };
  }
  return {
    ip,
    principal: principalOf(row, match.expiresAt),
    failure: null,
    bucket,
    storedAnswer: row.fingerprint && { fingerprint: row.fingerprint, status: row.status, body: row.body },
  };
}

function failureOf(credential: Credential, row: TokenRow | undefined, isMatching: boolean): AuthenticationFailure {
  if (credential.kind === 'none') return { reason: credential.reason };
  if (!row) return { reason: credential.kind === 'access' ? 'access_token' : 'unknown' };
  const reason = !isMatching ? 'wrong_secret' : row.is_revoked ? 'revoked' : 'expired';
  return { reason, tokenId: row.id, accountId: row.account_id };
}

/**
 * The parsed Authorization header. It contains the id and the hashed secret of an API token, the hash of an OAuth
 * access token, or no valid token.
 */
type Credential =
  | { kind: 'api'; tokenId: number; hash: Buffer }
  | { kind: 'access'; hash: Buffer }
  | { kind: 'none'; reason: 'missing' | 'malformed' };

/** The format of an OAuth access token. The token is opaque: it does not reveal its grant. */
const accessToken = /^iba_[A-Za-z0-9_-]{43}$/;

function readCredential({
  authorization,
  acceptsOauth,
}: Pick<TokenLookup, 'authorization' | 'acceptsOauth'>): Credential {
  const text = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '';
  if (acceptsOauth && accessToken.test(text)) return { kind: 'access', hash: hashOf(text) };
  const token = parseTokenText(text);
  if (token) return { kind: 'api', tokenId: token.id, hash: hashOf(token.secret) };
  return { kind: 'none', reason: authorization ? 'malformed' : 'missing' };
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
