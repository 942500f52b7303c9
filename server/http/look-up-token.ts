import { hash, timingSafeEqual } from 'node:crypto';
import type { Bucket } from '../../contract/limits.ts';
import type { Config } from '../config.ts';
import { coalesceCalls } from '../database/coalesce-calls.ts';
import type { Queryable } from '../database/database.ts';
import { parseTokenText } from '../domain/tokens/token-text.ts';
import { type IdentifiedRow, identifyTokens, type Principal, principalOf } from './identify-tokens.ts';
import { mcpUrlOf } from './public-addresses.ts';
import { type BucketState, type Counter, type Limits, stateOf, tokenCounter } from './rate-limit.ts';

/** The answer that was stored under an Idempotency-Key, and the fingerprint of the request that it answered. */
export interface StoredAnswer {
  fingerprint: Buffer;
  status: number;
  body: string;
}

/** What a request is charged for, and the Idempotency-Key under which it may cost nothing. */
export interface Charges {
  ip: Counter;
  bucket: Bucket | undefined;
  /** The settings: the limits, and for what access tokens of OAuth have to be. */
  limits: Limits & Pick<Config, 'BASE_URL'>;
  idempotency: { path: string; key: string } | undefined;
}

/** Why no token was found, for the audit log. Clients are not told. */
export type AuthenticationFailure =
  | { reason: 'missing' | 'malformed' | 'unknown' | 'access_token' }
  | { reason: 'wrong_secret' | 'revoked' | 'expired'; tokenId: number; accountId: number };

export interface LookupResult {
  ip: BucketState;
  /** Null when the bearer token is not valid. */
  principal: Principal | null;
  /** Null when it is. */
  failure: AuthenticationFailure | null;
  /** Null when nothing was charged: the route has no bucket, or the answer is stored. */
  bucket: BucketState | null;
  storedAnswer: StoredAnswer | null;
}

interface Lookup {
  credential: Credential;
  charges: Charges;
  now: Date;
}

/**
 * With two batches, PostgreSQL works on one while the answer to the other is on its way. Small batches keep the last of
 * many requests from waiting for a long statement.
 */
const batches = { maxUnderWay: 2, maxBatchSize: 64, patienceMs: 100 };

const queues = new WeakMap<Queryable, (lookup: Lookup) => Promise<LookupResult>>();

/**
 * Finds the token of an Authorization header and charges the request. All lookups of one database share a queue: they
 * save round trips, and they do not wait for each other at the counter of one address. Together they took a quarter off
 * PostgreSQL's work for getting one idea.
 */
export async function lookUpToken(
  database: Queryable,
  bearer: Bearer,
  charges: Charges,
  now: Date,
): Promise<LookupResult> {
  const lookUp = queues.get(database) ?? coalesceCalls(lookups => lookUpTokens(database, lookups), batches);
  queues.set(database, lookUp);
  return lookUp({ credential: readBearer(bearer), charges, now });
}

const noHash = Buffer.alloc(32);

async function lookUpTokens(database: Queryable, lookups: Lookup[]): Promise<LookupResult[]> {
  // Which token it is that a bucket is charged to, the statement finds out: here it is a window that all have.
  const windows = lookups.map(lookup => counterOf(lookup, 0));
  const rows = await database.query(identifyTokens, {
    tokenIds: lookups.map(({ credential }) => (credential.kind === 'api' ? credential.tokenId : null)),
    hashes: lookups.map(({ credential }) => (credential.kind === 'api' ? credential.hash : null)),
    accessHashes: lookups.map(({ credential }) => (credential.kind === 'access' ? credential.hash : null)),
    audiences: lookups.map(({ credential, charges }) =>
      credential.kind === 'access' ? mcpUrlOf(charges.limits) : null,
    ),
    times: lookups.map(({ now }) => now.toISOString()),
    buckets: lookups.map(({ charges }) => charges.bucket ?? null),
    bucketsStartedAt: windows.map(window => window?.windowStartedAt.toISOString() ?? null),
    bucketsExpireAt: windows.map(window => window?.expiresAt.toISOString() ?? null),
    paths: lookups.map(({ charges }) => charges.idempotency?.path ?? null),
    idempotencyKeys: lookups.map(({ charges }) => charges.idempotency?.key ?? null),
    counters: lookups.map(({ charges }) => charges.ip.key),
    countersStartedAt: lookups.map(({ charges }) => charges.ip.windowStartedAt.toISOString()),
    countersExpireAt: lookups.map(({ charges }) => charges.ip.expiresAt.toISOString()),
  });
  const counts = { ...rows[0]?.counts };
  const rowsByPlace = new Map(rows.map(row => [row.place, row]));

  // A counter went up once, by all that was charged to it. Each caller is told how it stood at their own turn: the
  // last one sees all of it, and whoever came before sees one less.
  const takeCount = (key: string) => {
    const count = counts[key];
    if (count === undefined) throw new Error('identify_tokens left a counter out');
    counts[key] = count - 1;
    return count;
  };
  const answers: LookupResult[] = [];
  for (const [index, lookup] of [...lookups.entries()].reverse()) {
    answers[index] = resultOf(lookup, rowsByPlace.get(index + 1), takeCount);
  }
  return answers;
}

function counterOf({ charges, now }: Lookup, tokenId: number): Counter | undefined {
  return charges.bucket && tokenCounter(charges.bucket, tokenId, charges.limits, now);
}

function resultOf(lookup: Lookup, row: IdentifiedRow | undefined, takeCount: (key: string) => number): LookupResult {
  const { credential, charges, now } = lookup;
  const ip = stateOf(charges.ip, takeCount(charges.ip.key), now);
  const counter = row?.is_charged ? counterOf(lookup, row.id) : undefined;
  const bucket = counter ? stateOf(counter, takeCount(counter.key), now) : null;
  // An unknown id costs the same comparison as a known one.
  const hash = credential.kind === 'none' ? noHash : credential.hash;
  const isMatching = timingSafeEqual(row?.secret_hash ?? noHash, hash);
  if (!row || !isMatching || !row.is_usable) {
    const failure = failureOf(credential, row, isMatching);
    return { ip, principal: null, failure, bucket: null, storedAnswer: null };
  }
  return {
    ip,
    principal: principalOf(row),
    failure: null,
    bucket,
    storedAnswer: row.fingerprint && { fingerprint: row.fingerprint, status: row.status, body: row.body },
  };
}

function failureOf(credential: Credential, row: IdentifiedRow | undefined, isMatching: boolean): AuthenticationFailure {
  if (credential.kind === 'none') return { reason: credential.reason };
  if (!row) return { reason: credential.kind === 'access' ? 'access_token' : 'unknown' };
  const reason = !isMatching ? 'wrong_secret' : row.is_revoked ? 'revoked' : 'expired';
  return { reason, tokenId: row.id, accountId: row.account_id };
}

/** What a request shows of who sends it, and as what it may count. */
export interface Bearer {
  authorization: string | undefined;
  /** Whether an access token of OAuth identifies its bearer, as it does for the tools alone (Authentication, 9). */
  acceptsOauth: boolean;
}

/** By what a bearer is found: the id and the hash of the secret of a token of the API, or the hash of an access token. */
type Credential =
  | { kind: 'api'; tokenId: number; hash: Buffer }
  | { kind: 'access'; hash: Buffer }
  /** The Authorization header is not there, or holds nothing that could be a token. */
  | { kind: 'none'; reason: 'missing' | 'malformed' };

/** The form of an access token of OAuth, of which nothing tells what it is for. */
const accessToken = /^iba_[A-Za-z0-9_-]{43}$/;

function readBearer({ authorization, acceptsOauth }: Bearer): Credential {
  const text = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '';
  if (acceptsOauth && accessToken.test(text)) return { kind: 'access', hash: hashOf(text) };
  const token = parseTokenText(text);
  if (token) return { kind: 'api', tokenId: token.id, hash: hashOf(token.secret) };
  return { kind: 'none', reason: authorization ? 'malformed' : 'missing' };
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
