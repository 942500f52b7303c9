import type { Capability, Grant } from '../../contract/grants.ts';
import type { RowOf } from '../database/query.ts';
import { array, bigint, boolean, bytes, inet, integer, json, nullable, sql, text, time } from '../database/sql.ts';
import type { Role } from '../entities/membership.ts';
import { chargeCounters, type OwnLimits } from './rate-limit.ts';

export interface GrantedBoard {
  id: number;
  slug: string;
  name: string;
  grant: Grant;
}

/**
 * Finds the tokens of several requests and counts the requests against their rate limits, in one round trip. If each
 * request made its own round trip, the server would handle a third fewer requests per second. Each argument from
 * `tokenIds` to `addresses` is an array with one element for each request.
 *
 * The statement finds an API token by its id, and an OAuth grant by the hash of an access token. It cannot filter by
 * account, because only the token determines the account.
 *
 * A request counts against the rate limit of a token only if the secret is right. So nobody can use up the rate limit
 * of a token just because they know the token's id. Two kinds of requests do not count against this limit: a request
 * from a network that the token does not allow, and a request that gets a stored answer.
 */
export const findTokens = sql(
  'find_tokens',
  {
    arguments: {
      tokenIds: array(nullable(bigint())),
      hashes: array(nullable(bytes())),
      accessHashes: array(nullable(bytes())),
      audiences: array(nullable(text())),
      times: array(time()),
      buckets: array(nullable(text())),
      bucketsStartedAt: array(nullable(time())),
      bucketsExpireAt: array(nullable(time())),
      paths: array(nullable(text())),
      idempotencyKeys: array(nullable(text())),
      addresses: array(nullable(inet())),
      counters: array(text()),
      countersStartedAt: array(time()),
      countersExpireAt: array(time()),
      /** For how many milliseconds after a write the token reads from the primary. 0 without a read replica. */
      primaryReadMs: integer(),
    },
    row: {
      /**
       * The new counts of all rate limit counters. The keys of the object are the keys of the counters. The value is
       * the same in every row.
       */
      counts: json<Record<string, number>>(),
      /**
       * The position of the request in the arrays, starting at 1. If no token was found, the result has a single row,
       * in which every column except `counts` is null.
       */
      place: nullable(bigint()),
      bucket_key: nullable(text()),
      bucket_started_at: nullable(time()),
      bucket_expires_at: nullable(time()),
      id: bigint(),
      name: text(),
      capabilities: array(text<Capability>()),
      /** The hash of the secret of an API token, or the hash of an OAuth access token. */
      secret_hash: bytes(),
      /**
       * The hash of the old secret, which the last rotation replaced. Null if the old secret does not work any more.
       */
      previous_secret_hash: nullable(bytes()),
      previous_secret_expires_at: nullable(time()),
      read_limit: nullable(integer()),
      write_limit: nullable(integer()),
      /** Whether the token allows the network of the request. */
      is_network_allowed: boolean(),
      expires_at: nullable(time()),
      last_used_at: nullable(time()),
      voter_id: bigint(),
      is_usable: boolean(),
      is_revoked: boolean(),
      is_charged: boolean(),
      account_id: bigint(),
      account_name: text(),
      plan: text(),
      issuer_id: bigint(),
      issuer_name: text(),
      role: nullable(text<Role>()),
      is_blocked: boolean(),
      /**
       * The fingerprint of the request that got the stored answer. If no answer is stored for the Idempotency-Key, the
       * columns `fingerprint`, `status` and `body` are null.
       */
      fingerprint: nullable(bytes()),
      status: integer(),
      body: text(),
      boards: json<GrantedBoard[]>(),
      /** Whether the token has written, or asked for a cursor of the events, within the last primaryReadMs. */
      reads_primary: boolean(),
    },
  },
  `with token as materialized (
    select c.place, c.bucket || ':' || t.id as bucket_key, c.bucket_started_at, c.bucket_expires_at,
      t.id, t.name, t.capabilities, usable.secret_hash, usable.previous_secret_hash, t.previous_secret_expires_at,
      t.read_limit, t.write_limit, usable.is_network_allowed,
      t.expires_at, t.last_used_at, t.voter_id, usable.is_usable,
      t.revoked_at is not null or a.erasure_began_at is not null or u.erasure_began_at is not null as is_revoked,
      c.bucket is not null
        and coalesce(coalesce(c.access_hash, c.hash) in (usable.secret_hash, usable.previous_secret_hash), false)
        and usable.is_usable and usable.is_network_allowed and k.fingerprint is null as is_charged,
      t.account_id, a.name as account_name, a.plan,
      t.issuer_id, u.name as issuer_name, m.role, b.user_id is not null as is_blocked,
      k.fingerprint, k.status, k.body,
      coalesce((
        select json_agg(
          json_build_object('id', bo.id, 'slug', bo.slug, 'name', bo.name, 'grant', g.level) order by bo.slug
        )
        from api_token_boards g join boards bo on bo.account_id = t.account_id and bo.id = g.board_id
        where g.account_id = t.account_id and g.token_id = t.id
      ), '[]') as boards
    from unnest(
      $tokenIds::bigint[], $hashes::bytea[], $accessHashes::bytea[], $audiences::text[], $times::timestamptz[],
      $buckets::text[], $bucketsStartedAt::timestamptz[], $bucketsExpireAt::timestamptz[], $paths::text[],
      $idempotencyKeys::text[], $addresses::inet[]
    ) with ordinality as c (
      token_id, hash, access_hash, audience, now, bucket, bucket_started_at, bucket_expires_at, path, idempotency_key,
      address, place
    )
    -- This join costs nothing for API tokens, because they have no access_hash.
    left join oauth_records o
      on o.model = 'AccessToken' and o.id_hash = c.access_hash and o.expires_at > c.now
        and o.payload ->> 'aud' = c.audience
    join api_tokens t
      on t.id = coalesce(c.token_id, o.token_id) and t.kind = case when o.id_hash is null then 'api' else 'oauth' end
    join accounts a on a.id = t.account_id
    join users u on u.id = t.issuer_id
    cross join lateral (
      select t.revoked_at is null and (t.expires_at is null or t.expires_at > c.now)
        and a.erasure_began_at is null and u.erasure_began_at is null as is_usable,
        coalesce(o.id_hash, t.secret_hash) as secret_hash,
        case when o.id_hash is null and t.previous_secret_expires_at > c.now then t.previous_secret_hash end
          as previous_secret_hash,
        t.allowed_networks = '{}' or coalesce(c.address <<= any (t.allowed_networks), false) as is_network_allowed
    ) usable
    left join memberships m on m.account_id = t.account_id and m.user_id = t.issuer_id
    left join user_blocks b on b.account_id = t.account_id and b.user_id = t.issuer_id
    left join idempotency_keys k
      on k.account_id = t.account_id and k.token_id = t.id and k.path = c.path and k.key = c.idempotency_key
        and k.expires_at > c.now
  ),
  charge (key, window_started_at, expires_at) as (
    select * from unnest($counters::text[], $countersStartedAt::timestamptz[], $countersExpireAt::timestamptz[])
    union all
    select bucket_key, bucket_started_at, bucket_expires_at from token where is_charged
    union all
    select 'wrote:' || id, now(), now() + $primaryReadMs::int * interval '1 millisecond' from token
    where is_charged and $primaryReadMs::int > 0 and starts_with(bucket_key, 'apitoken:write:')
  ),
  charged as (${chargeCounters})
  select (select json_object_agg(key, count) from charged) as counts, token.*,
    $primaryReadMs::int > 0 and exists (
      select from rate_limits w where w.key = 'wrote:' || token.id and w.expires_at > now()
    ) as reads_primary
  from (select) as always left join token on true`,
);

export type TokenRow = RowOf<typeof findTokens>;

/** The token of a request, with the account of the token and the user who issued it. */
export type Principal = ReturnType<typeof principalOf>;

export function principalOf(row: TokenRow, secretExpiresAt: string | null) {
  return {
    tokenId: row.id,
    tokenName: row.name,
    expiresAt: row.expires_at,
    /**
     * If a newer secret replaces the secret of the request, the time when the request's secret stops working. Otherwise
     * null.
     */
    secretExpiresAt,
    lastUsedAt: row.last_used_at,
    ownLimits: ownLimitsOf(row),
    isNetworkAllowed: row.is_network_allowed,
    account: { id: row.account_id, name: row.account_name, plan: row.plan },
    issuer: { id: row.issuer_id, name: row.issuer_name, role: row.role, isBlocked: row.is_blocked },
    voterId: row.voter_id,
    boards: row.boards,
    readsPrimary: row.reads_primary,
    /**
     * The capabilities that the token can use now. Empty unless the issuer is still an owner or admin, because only
     * owners and admins may create tokens with capabilities.
     */
    capabilities: row.role === 'owner' || row.role === 'admin' ? row.capabilities : [],
    /** Whether the request came through a read-only connection. */
    isReadOnly: false,
  };
}

export function ownLimitsOf(row: Pick<TokenRow, 'read_limit' | 'write_limit'>): OwnLimits {
  return { 'apitoken:read': row.read_limit, 'apitoken:write': row.write_limit };
}
