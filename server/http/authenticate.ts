import { timingSafeEqual } from 'node:crypto';
import type { Grant } from '../../contract/grants.ts';
import type { Bucket } from '../../contract/limits.ts';
import type { Config } from '../config.ts';
import { coalesceCalls } from '../database/coalesce-calls.ts';
import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { Role } from '../entities/membership.ts';
import { type Bearer, type Credential, readBearer } from './bearer.ts';
import { type IdentifiedRow, identifyTokens } from './identify-tokens.ts';
import { mcpUrlOf } from './public-addresses.ts';
import { type BucketState, type Counter, type Limits, stateOf, tokenCounter } from './rate-limit.ts';

/** Who a bearer token is. */
export interface Principal {
  tokenId: number;
  tokenName: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  account: { id: number; name: string; plan: string };
  issuer: { id: number; name: string; role: Role | null; isBlocked: boolean };
  voterId: number;
  boards: { id: number; slug: string; name: string; grant: Grant }[];
}

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

/** Why nobody is identified. The client is told nothing of it: the audit log is. */
export type AuthenticationFailure =
  | { reason: 'missing' | 'malformed' | 'unknown' | 'access_token' }
  | { reason: 'wrong_secret' | 'revoked' | 'expired'; tokenId: number; accountId: number };

export interface Identification {
  ip: BucketState;
  /** Null when the bearer token is not valid. */
  principal: Principal | null;
  /** Null when it is. */
  failure: AuthenticationFailure | null;
  /** Null when nothing was charged: the route has no bucket, or the answer is stored. */
  bucket: BucketState | null;
  storedAnswer: StoredAnswer | null;
}

/** A request that is to be identified, maybe together with others. */
interface Caller {
  credential: Credential;
  charges: Charges;
  now: Date;
}

const noHash = Buffer.alloc(32);

/** Identifies the bearer of an Authorization header and charges the request. */
export async function identify(
  database: Queryable,
  bearer: Bearer,
  charges: Charges,
  now: Date,
): Promise<Identification> {
  return identifierOf(database)({ credential: readBearer(bearer), charges, now });
}

const identifiers = new WeakMap<Queryable, (caller: Caller) => Promise<Identification>>();

/**
 * With two batches, PostgreSQL works on one while the answer to the other is on its way. Small batches keep the last of
 * many requests from waiting for a long statement.
 */
const identifying = { maxUnderWay: 2, maxBatchSize: 64, patienceMs: 100 };

/**
 * All requests to a database are identified in one queue. Alone, most of an identification is the trip itself; and
 * many requests from one address wait for each other at the row that counts them, each on a connection. Together they
 * took a quarter off PostgreSQL's work for getting one idea.
 */
function identifierOf(database: Queryable) {
  const known = identifiers.get(database);
  if (known) return known;
  const identifier = coalesceCalls((callers: Caller[]) => identifyAll(database, callers), identifying);
  identifiers.set(database, identifier);
  return identifier;
}

async function identifyAll(database: Queryable, callers: Caller[]): Promise<Identification[]> {
  // Which token it is that a bucket is charged to, the statement finds out: here it is a window that all have.
  const windows = callers.map(caller => counterOf(caller, 0));
  const rows = await database.query(identifyTokens, {
    tokenIds: callers.map(({ credential }) => (credential.kind === 'api' ? credential.tokenId : null)),
    hashes: callers.map(({ credential }) => (credential.kind === 'api' ? credential.hash : null)),
    accessHashes: callers.map(({ credential }) => (credential.kind === 'access' ? credential.hash : null)),
    audiences: callers.map(({ credential, charges }) =>
      credential.kind === 'access' ? mcpUrlOf(charges.limits) : null,
    ),
    times: callers.map(({ now }) => now.toISOString()),
    buckets: callers.map(({ charges }) => charges.bucket ?? null),
    bucketsStartedAt: windows.map(window => window?.windowStartedAt.toISOString() ?? null),
    bucketsExpireAt: windows.map(window => window?.expiresAt.toISOString() ?? null),
    paths: callers.map(({ charges }) => charges.idempotency?.path ?? null),
    idempotencyKeys: callers.map(({ charges }) => charges.idempotency?.key ?? null),
    counters: callers.map(({ charges }) => charges.ip.key),
    countersStartedAt: callers.map(({ charges }) => charges.ip.windowStartedAt.toISOString()),
    countersExpireAt: callers.map(({ charges }) => charges.ip.expiresAt.toISOString()),
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
  const answers: Identification[] = [];
  for (const [index, caller] of [...callers.entries()].reverse()) {
    answers[index] = identificationOf(caller, rowsByPlace.get(index + 1), takeCount);
  }
  return answers;
}

function counterOf({ charges, now }: Caller, tokenId: number): Counter | undefined {
  return charges.bucket && tokenCounter(charges.bucket, tokenId, charges.limits, now);
}

function identificationOf(
  caller: Caller,
  row: IdentifiedRow | undefined,
  takeCount: (key: string) => number,
): Identification {
  const { credential, charges, now } = caller;
  const ip = stateOf(charges.ip, takeCount(charges.ip.key), now);
  const counter = row?.is_charged ? counterOf(caller, row.id) : undefined;
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

function principalOf(row: IdentifiedRow): Principal {
  return {
    tokenId: row.id,
    tokenName: row.name,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    account: { id: row.account_id, name: row.account_name, plan: row.plan },
    issuer: { id: row.issuer_id, name: row.issuer_name, role: row.role, isBlocked: row.is_blocked },
    voterId: row.voter_id,
    boards: row.boards,
  };
}

const touchToken = query(
  'touch_token',
  (db, $: Arguments<{ accountId: number; tokenId: number; now: Date; due: Date }>) =>
    db
      .updateTable('api_tokens')
      .set({ last_used_at: $.now })
      .where('account_id', '=', $.accountId)
      .where('id', '=', $.tokenId)
      .where(token => token.or([token('last_used_at', 'is', null), token('last_used_at', '<', $.due)])),
);

const touchIntervalMs = 60_000;

/** Notes when the token was used, to the minute: most requests find that it is noted already. */
export async function noteUse(database: Queryable, principal: Principal, now: Date): Promise<void> {
  const due = new Date(now.getTime() - touchIntervalMs);
  if (principal.lastUsedAt !== null && new Date(principal.lastUsedAt) >= due) return;
  await database.query(touchToken, { accountId: principal.account.id, tokenId: principal.tokenId, now, due });
}

export function requirePrincipal(principal: Principal | null): Principal {
  if (!principal) throw new DomainError('unauthorized');
  return principal;
}
