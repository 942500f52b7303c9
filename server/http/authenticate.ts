import { createHash, timingSafeEqual } from 'node:crypto';
import type { Grant } from '../../contract/grants.ts';
import type { Bucket } from '../../contract/limits.ts';
import type { Queryable } from '../database/database.ts';
import { groupCalls } from '../database/group-calls.ts';
import { statement } from '../database/statement.ts';
import { DomainError } from '../domain/domain-error.ts';
import { parseTokenText } from '../domain/tokens/token-text.ts';
import type { Role } from '../entities/membership.ts';
import { type BucketState, type Counter, chargeCounters, type Limits, stateOf, tokenCounter } from './rate-limit.ts';

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

/** What a request shows of who sends it, and as what it may count. */
export interface Bearer {
  authorization: string | undefined;
  /** Whether an access token of OAuth identifies its bearer, as it does for the tools alone (Authentication, 9). */
  acceptsOauth: boolean;
}

/** What a request is charged for, and the Idempotency-Key under which it may cost nothing. */
export interface Charges {
  ip: Counter;
  bucket: Bucket | undefined;
  limits: Limits;
  idempotency: { path: string; key: string } | undefined;
}

/** Why nobody is identified. The client is told nothing of it: the audit log is. */
export type AuthenticationFailure =
  | { reason: 'missing' | 'malformed' | 'unknown' }
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
  /** Undefined when the Authorization header holds nothing that could be a token. */
  tokenId: number | undefined;
  hasAuthorization: boolean;
  hash: Buffer;
  counter: Counter | undefined;
  charges: Charges;
  now: Date;
}

interface IdentifyRow {
  /** Of all the counters that were charged, by their keys: the same in every row. */
  counts: Record<string, number>;
  /** Which of the callers the row is for, from 1. Null, with all that follows, when it is for none. */
  place: number | null;
  id: number;
  name: string;
  secret_hash: Buffer;
  is_usable: boolean;
  is_revoked: boolean;
  is_charged: boolean;
  expires_at: string | null;
  last_used_at: string | null;
  voter_id: number;
  account_id: number;
  account_name: string;
  plan: string;
  issuer_id: number;
  issuer_name: string;
  role: Role | null;
  is_blocked: boolean;
  boards: Principal['boards'];
  fingerprint: Buffer | null;
  status: number;
  body: string;
}

/**
 * Finds the tokens of some requests and charges their limits, in one round trip: separate ones cost a third of the
 * requests per second. Each parameter is an array with one element for each request.
 * A bucket is charged only for a token that is valid, so that knowing an id is not enough to exhaust it, and not for
 * the repetition of a request whose answer is stored.
 */
const identifyTokens = statement<IdentifyRow>(
  'identify_tokens',
  `with token as materialized (
    select c.place, c.bucket_key, c.bucket_started_at, c.bucket_expires_at,
      t.id, t.name, t.secret_hash, t.expires_at, t.last_used_at, t.voter_id, usable.is_usable,
      t.revoked_at is not null or a.erasure_began_at is not null or u.erasure_began_at is not null as is_revoked,
      c.bucket_key is not null and t.secret_hash = c.hash and usable.is_usable and k.fingerprint is null as is_charged,
      t.account_id, a.name as account_name, a.plan,
      t.issuer_id, u.name as issuer_name, m.role, b.user_id is not null as is_blocked,
      k.fingerprint, k.status, k.body,
      coalesce((
        select json_agg(
          json_build_object('id', bo.id, 'slug', bo.slug, 'name', bo.name, 'grant', g.level) order by bo.slug
        )
        from api_token_boards g join boards bo on bo.id = g.board_id
        where g.token_id = t.id
      ), '[]') as boards
    from unnest(
      $1::bigint[], $2::bytea[], $3::timestamptz[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::text[],
      $11::text[]
    ) with ordinality as c (
      token_id, hash, now, bucket_key, bucket_started_at, bucket_expires_at, path, idempotency_key, place
    )
    join api_tokens t on t.id = c.token_id and t.kind = 'api'
    join accounts a on a.id = t.account_id
    join users u on u.id = t.issuer_id
    cross join lateral (
      select t.revoked_at is null and (t.expires_at is null or t.expires_at > c.now)
        and a.erasure_began_at is null and u.erasure_began_at is null as is_usable
    ) usable
    left join memberships m on m.account_id = t.account_id and m.user_id = t.issuer_id
    left join user_blocks b on b.account_id = t.account_id and b.user_id = t.issuer_id
    left join idempotency_keys k
      on k.token_id = t.id and k.path = c.path and k.key = c.idempotency_key and k.expires_at > c.now
  ),
  charge (key, window_started_at, expires_at) as (
    select * from unnest($4::text[], $5::timestamptz[], $6::timestamptz[])
    union all
    select bucket_key, bucket_started_at, bucket_expires_at from token where is_charged
  ),
  charged as (${chargeCounters})
  select (select json_object_agg(key, count) from charged) as counts, token.*
  from (select) as always left join token on true`,
);

const noHash = Buffer.alloc(32);

/** Identifies the bearer of an Authorization header and charges the request. */
export async function identify(
  database: Queryable,
  { authorization }: Bearer,
  charges: Charges,
  now: Date,
): Promise<Identification> {
  const bearer = parseTokenText(/^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '');
  return identifierOf(database)({
    tokenId: bearer?.id,
    hasAuthorization: Boolean(authorization),
    hash: bearer ? createHash('sha256').update(bearer.secret).digest() : noHash,
    counter: bearer && charges.bucket && tokenCounter(charges.bucket, bearer.id, charges.limits, now),
    charges,
    now,
  });
}

const identifiers = new WeakMap<Queryable, (caller: Caller) => Promise<Identification>>();

/**
 * All requests to a database are identified in one queue. Alone, most of an identification is the trip itself; and
 * many requests from one address wait for each other at the row that counts them, each on a connection. Together they
 * took a quarter off PostgreSQL's work for getting one idea.
 */
function identifierOf(database: Queryable) {
  const known = identifiers.get(database);
  if (known) return known;
  const identifier = groupCalls((callers: Caller[]) => identifyAll(database, callers));
  identifiers.set(database, identifier);
  return identifier;
}

async function identifyAll(database: Queryable, callers: Caller[]): Promise<Identification[]> {
  const rows = await database.query(identifyTokens, [
    callers.map(({ tokenId }) => tokenId),
    callers.map(({ hash }) => hash),
    callers.map(({ now }) => now.toISOString()),
    callers.map(({ charges }) => charges.ip.key),
    callers.map(({ charges }) => charges.ip.windowStartedAt.toISOString()),
    callers.map(({ charges }) => charges.ip.expiresAt.toISOString()),
    callers.map(({ counter }) => counter?.key),
    callers.map(({ counter }) => counter?.windowStartedAt.toISOString()),
    callers.map(({ counter }) => counter?.expiresAt.toISOString()),
    callers.map(({ charges }) => charges.idempotency?.path),
    callers.map(({ charges }) => charges.idempotency?.key),
  ]);
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

function identificationOf(
  caller: Caller,
  row: IdentifyRow | undefined,
  takeCount: (key: string) => number,
): Identification {
  const { hash, counter, charges, now } = caller;
  const ip = stateOf(charges.ip, takeCount(charges.ip.key), now);
  const bucket = counter && row?.is_charged ? stateOf(counter, takeCount(counter.key), now) : null;
  // An unknown id costs the same comparison as a known one.
  const isMatching = timingSafeEqual(row?.secret_hash ?? noHash, hash);
  if (!row || !isMatching || !row.is_usable) {
    return { ip, principal: null, failure: failureOf(caller, row, isMatching), bucket: null, storedAnswer: null };
  }
  return {
    ip,
    principal: principalOf(row),
    failure: null,
    bucket,
    storedAnswer: row.fingerprint && { fingerprint: row.fingerprint, status: row.status, body: row.body },
  };
}

function failureOf(
  { tokenId, hasAuthorization }: Caller,
  row: IdentifyRow | undefined,
  isMatching: boolean,
): AuthenticationFailure {
  if (!hasAuthorization) return { reason: 'missing' };
  if (tokenId === undefined) return { reason: 'malformed' };
  if (!row) return { reason: 'unknown' };
  const reason = !isMatching ? 'wrong_secret' : row.is_revoked ? 'revoked' : 'expired';
  return { reason, tokenId: row.id, accountId: row.account_id };
}

function principalOf(row: IdentifyRow): Principal {
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

const touchToken = statement<never>(
  'touch_token',
  'update api_tokens set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $3)',
);

const touchIntervalMs = 60_000;

/** Notes when the token was used, to the minute: most requests find that it is noted already. */
export async function noteUse(database: Queryable, principal: Principal, now: Date): Promise<void> {
  const due = new Date(now.getTime() - touchIntervalMs);
  if (principal.lastUsedAt !== null && new Date(principal.lastUsedAt) >= due) return;
  await database.query(touchToken, [principal.tokenId, now, due]);
}

export function requirePrincipal(principal: Principal | null): Principal {
  if (!principal) throw new DomainError('unauthorized');
  return principal;
}
