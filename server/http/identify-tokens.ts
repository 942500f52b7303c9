import { statement } from '../database/statement.ts';
import type { Role } from '../entities/membership.ts';
import type { Principal } from './authenticate.ts';
import { chargeCounters } from './rate-limit.ts';

/** What is found of one of the callers. */
export interface IdentifiedRow {
  /** Of all the counters that were charged, by their keys: the same in every row. */
  counts: Record<string, number>;
  /** Which of the callers the row is for, from 1. Null, with all that follows, when it is for none. */
  place: number | null;
  id: number;
  name: string;
  /** Of the secret, or of the access token that was found. */
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
 * A token of the API is found by its id, one that stands for a grant of OAuth by the hash of an access token.
 * A bucket is charged only for a token that is valid, so that knowing an id is not enough to exhaust it, and not for
 * the repetition of a request whose answer is stored.
 */
export const identifyTokens = statement<IdentifiedRow>(
  'identify_tokens',
  `with token as materialized (
    select c.place, c.bucket || ':' || t.id as bucket_key, c.bucket_started_at, c.bucket_expires_at,
      t.id, t.name, coalesce(o.id_hash, t.secret_hash) as secret_hash,
      t.expires_at, t.last_used_at, t.voter_id, usable.is_usable,
      t.revoked_at is not null or a.erasure_began_at is not null or u.erasure_began_at is not null as is_revoked,
      c.bucket is not null and coalesce(o.id_hash, t.secret_hash) = coalesce(c.access_hash, c.hash)
        and usable.is_usable and k.fingerprint is null as is_charged,
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
      $1::bigint[], $2::bytea[], $3::bytea[], $4::text[], $5::timestamptz[], $6::text[], $7::timestamptz[],
      $8::timestamptz[], $9::text[], $10::text[]
    ) with ordinality as c (
      token_id, hash, access_hash, audience, now, bucket, bucket_started_at, bucket_expires_at, path, idempotency_key,
      place
    )
    -- With no hash, as for every token of the API, nothing is looked for.
    left join oauth_records o
      on o.model = 'AccessToken' and o.id_hash = c.access_hash and o.expires_at > c.now
        and o.payload ->> 'aud' = c.audience
    join api_tokens t
      on t.id = coalesce(c.token_id, o.token_id) and t.kind = case when o.id_hash is null then 'api' else 'oauth' end
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
    select * from unnest($11::text[], $12::timestamptz[], $13::timestamptz[])
    union all
    select bucket_key, bucket_started_at, bucket_expires_at from token where is_charged
  ),
  charged as (${chargeCounters})
  select (select json_object_agg(key, count) from charged) as counts, token.*
  from (select) as always left join token on true`,
);
