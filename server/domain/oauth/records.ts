import { createHash } from 'node:crypto';
import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

/** What the provider keeps of one thing: JSON, in which a user is named as accountId and a grant as grantId. */
export type OauthPayload = Record<string, unknown>;

/** A record as it was found. */
export interface FoundRecord {
  payload: OauthPayload;
  /** When a code or a refresh token was redeemed. */
  consumedAt: string | null;
}

/**
 * The hash under which a record is found. Of a code or a token the id is the code or token itself: whoever reads the
 * database has none of them.
 */
export function hashOfId(id: string): Buffer {
  return createHash('sha256').update(id).digest();
}

const insertRecord = statement<never>(
  'store_oauth_record',
  `insert into oauth_records as r (model, id_hash, payload, created_at, expires_at) values ($1, $2, $3, $4, $5)
  on conflict (model, id_hash) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
);

/** Stores a record that stands under no grant: a client, or a request that awaits consent. */
export async function storeRecord(
  db: Queryable,
  model: string,
  { id, payload, now, expiresAt }: { id: string; payload: OauthPayload; now: Date; expiresAt: Date },
): Promise<void> {
  await db.query(insertRecord, [model, hashOfId(id), JSON.stringify(payload), now, expiresAt]);
}

/**
 * Locks the grant and its row among the tokens. So a token is not issued once the grant has ended or its person has been
 * removed, and redemptions under one grant wait for each other. The grant, its row among the tokens and its client live as
 * long as the newest token, so that unused ones expire by themselves.
 */
const insertUnderGrant = statement<{ token_id: number }>(
  'store_oauth_record_under_grant',
  `with of_grant as materialized (
    select g.id_hash, g.token_id, g.user_id
    from oauth_records g join api_tokens t on t.id = g.token_id
    where g.model = 'Grant' and g.id_hash = $6 and t.revoked_at is null and t.expires_at > $4
    for no key update of g, t
  ), grant_kept as (
    update oauth_records r set expires_at = greatest(r.expires_at, $5) from of_grant g
    where r.model = 'Grant' and r.id_hash = g.id_hash
  ), token_kept as (
    update api_tokens t set expires_at = greatest(t.expires_at, $5) from of_grant g where t.id = g.token_id
  ), client_kept as (
    update oauth_records r set expires_at = greatest(r.expires_at, $9) from of_grant
    where r.model = 'Client' and r.id_hash = $8
  )
  insert into oauth_records (model, id_hash, payload, user_id, token_id, grant_id, parent_hash, created_at, expires_at)
  select $1, $2, $3, user_id, token_id, $7, $10, $4, $5 from of_grant
  returning token_id`,
);

/** A code or a token, with the grant under which it stands. */
export interface RecordUnderGrant {
  model: string;
  id: string;
  grantId: string;
  clientId: string;
  payload: OauthPayload;
  now: Date;
  expiresAt: Date;
  clientKeptUntil: Date;
}

/** Stores a code or a token under its grant. Answers whether the grant is there still. */
export async function storeUnderGrant(
  db: Queryable,
  record: RecordUnderGrant,
  parentId: string | null = null,
): Promise<boolean> {
  const stored = await db.query(insertUnderGrant, [
    record.model,
    hashOfId(record.id),
    JSON.stringify(record.payload),
    record.now,
    record.expiresAt,
    hashOfId(record.grantId),
    record.grantId,
    hashOfId(record.clientId),
    record.clientKeptUntil,
    parentId === null ? null : hashOfId(parentId),
  ]);
  return stored.length > 0;
}

const selectRecord = statement<{ payload: OauthPayload; consumed_at: string | null }>(
  'find_oauth_record',
  `select r.payload, r.consumed_at
  from oauth_records r
  left join api_tokens t on t.id = r.token_id
  left join accounts a on a.id = t.account_id
  left join users u on u.id = t.issuer_id
  where r.model = $1 and r.id_hash = $2 and r.expires_at > $3
    and (
      r.token_id is null
      or (t.revoked_at is null and t.expires_at > $3 and a.erasure_began_at is null and u.erasure_began_at is null)
    )`,
);

/** Finds what has not expired and whose grant has not ended, in whichever way. */
export async function findRecord(
  db: Queryable,
  model: string,
  id: string,
  now: Date,
): Promise<FoundRecord | undefined> {
  const [row] = await db.query(selectRecord, [model, hashOfId(id), now]);
  return row && { payload: row.payload, consumedAt: row.consumed_at };
}

const markConsumed = statement<{ model: string }>(
  'consume_oauth_record',
  `update oauth_records set consumed_at = $3 where model = $1 and id_hash = $2 and consumed_at is null
  returning model`,
);

/** Redeems a code or a refresh token. Of two that do so at once one is answered true. */
export async function consumeRecord(db: Queryable, model: string, id: string, now: Date): Promise<boolean> {
  return (await db.query(markConsumed, [model, hashOfId(id), now])).length > 0;
}

/** Finds the issued tokens by the index on grant_id: a grant has few, so parent_hash needs no index. */
const selectRepetition = statement<Repetition>(
  'judge_oauth_repetition',
  `select
    r.consumed_at > $2 and not exists (
      select from oauth_records c
      where c.grant_id = r.grant_id and c.parent_hash = r.id_hash and c.consumed_at is not null
    ) as is_in_leeway,
    (
      select count(*)::int from oauth_records c where c.grant_id = r.grant_id and c.parent_hash = r.id_hash
    ) as issued_count
  from oauth_records r
  where r.model = 'RefreshToken' and r.id_hash = $1`,
);

/** The state of a refresh token that was redeemed before. */
export interface Repetition {
  /** It was redeemed a moment ago, and none of the refresh tokens that it issued has been redeemed. */
  is_in_leeway: boolean;
  /** How many refresh tokens it has issued. */
  issued_count: number;
}

/** Undefined where the refresh token has expired and is gone. */
export async function judgeRepetition(db: Queryable, id: string, redeemedAfter: Date): Promise<Repetition | undefined> {
  const [repetition] = await db.query(selectRepetition, [hashOfId(id), redeemedAfter]);
  return repetition;
}

const deleteRecord = statement<{ model: string }>(
  'delete_oauth_record',
  'delete from oauth_records where model = $1 and id_hash = $2 returning model',
);

/** Answers whether it was there: of two that remove it at once, to one. */
export async function removeRecord(db: Queryable, model: string, id: string): Promise<boolean> {
  return (await db.query(deleteRecord, [model, hashOfId(id)])).length > 0;
}
