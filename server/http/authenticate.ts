import { createHash, timingSafeEqual } from 'node:crypto';
import type { Grant } from '../../contract/grants.ts';
import type { Bucket } from '../../contract/limits.ts';
import type { Queryable } from '../database/database.ts';
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

/** What a request is charged for, and the Idempotency-Key under which it may cost nothing. */
export interface Charges {
  ip: Counter;
  bucket: Bucket | undefined;
  limits: Limits;
  idempotency: { path: string; key: string } | undefined;
}

export interface Identification {
  ip: BucketState;
  /** Null when the bearer token is not valid. */
  principal: Principal | null;
  /** Null when nothing was charged: the route has no bucket, or the answer is stored. */
  bucket: BucketState | null;
  storedAnswer: StoredAnswer | null;
}

interface IdentifyRow {
  ip_count: number;
  bucket_count: number | null;
  id: number | null;
  name: string;
  secret_hash: Buffer;
  is_usable: boolean;
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
 * Finds the token and charges the limits, in one round trip: separate ones cost a third of the requests per second.
 * A bucket is charged only for a token that is valid, so that knowing an id is not enough to exhaust it, and not for
 * the repetition of a request whose answer is stored.
 */
const identifyToken = statement<IdentifyRow>(
  'identify_token',
  `with token as materialized (
    select t.id, t.name, t.secret_hash, t.expires_at, t.last_used_at, t.voter_id,
      t.revoked_at is null and (t.expires_at is null or t.expires_at > $3) as is_usable,
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
    from api_tokens t
    join accounts a on a.id = t.account_id
    join users u on u.id = t.issuer_id
    left join memberships m on m.account_id = t.account_id and m.user_id = t.issuer_id
    left join user_blocks b on b.account_id = t.account_id and b.user_id = t.issuer_id
    left join idempotency_keys k on k.token_id = t.id and k.path = $10 and k.key = $11 and k.expires_at > $3
    where t.id = $1 and t.kind = 'api'
  ),
  charge (key, window_started_at, expires_at) as (
    select $4::text, $5::timestamptz, $6::timestamptz
    union all
    select $7::text, $8::timestamptz, $9::timestamptz
    from token
    where $7::text is not null and secret_hash = $2 and is_usable and fingerprint is null
  ),
  charged as (${chargeCounters})
  select
    (select count from charged where key = $4) as ip_count,
    (select count from charged where key = $7) as bucket_count,
    token.*
  from (select) as always left join token on true`,
);

const noHash = Buffer.alloc(32);

/** Identifies the bearer of an Authorization header and charges the request. */
export async function identify(
  database: Queryable,
  authorization: string | undefined,
  charges: Charges,
  now: Date,
): Promise<Identification> {
  const bearer = parseTokenText(/^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '');
  const hash = bearer ? createHash('sha256').update(bearer.secret).digest() : noHash;
  const counter = bearer && charges.bucket && tokenCounter(charges.bucket, bearer.id, charges.limits, now);
  const [row] = await database.query(identifyToken, [
    bearer?.id ?? null,
    hash,
    now,
    charges.ip.key,
    charges.ip.windowStartedAt,
    charges.ip.expiresAt,
    counter?.key ?? null,
    counter?.windowStartedAt ?? null,
    counter?.expiresAt ?? null,
    charges.idempotency?.path ?? null,
    charges.idempotency?.key ?? null,
  ]);
  if (!row) throw new Error('identify_token answered no row');
  const ip = stateOf(charges.ip, row.ip_count, now);

  // An unknown id costs the same comparison as a known one.
  const isMatching = timingSafeEqual(row.secret_hash ?? noHash, hash);
  if (row.id === null || !isMatching || !row.is_usable) {
    return { ip, principal: null, bucket: null, storedAnswer: null };
  }
  return {
    ip,
    principal: principalOf(row, row.id),
    bucket: counter && row.bucket_count !== null ? stateOf(counter, row.bucket_count, now) : null,
    storedAnswer: row.fingerprint && { fingerprint: row.fingerprint, status: row.status, body: row.body },
  };
}

function principalOf(row: IdentifyRow, tokenId: number): Principal {
  return {
    tokenId,
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
