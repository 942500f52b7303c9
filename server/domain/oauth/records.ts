import { createHash } from 'node:crypto';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { OauthRecord } from '../../entities/oauth-record.ts';

/** The JSON that the provider stores. In it, accountId is the id of a user and grantId the id of a grant. */
export type OauthPayload = OauthRecord['payload'];

export interface FoundRecord {
  payload: OauthPayload;
  /** The time when a code or a refresh token was redeemed. */
  consumedAt: string | null;
}

/** Returns the hash that finds a record. The id of a code or a token is its text, so the database holds only the hash. */
export function hashOfId(id: string): Buffer {
  return createHash('sha256').update(id).digest();
}

interface NewRecord {
  model: string;
  idHash: Buffer;
  payload: OauthPayload;
  now: Date;
  expiresAt: Date;
}

const insertRecord = query('store_oauth_record', (db, $: Arguments<NewRecord>) =>
  db
    .insertInto('oauth_records')
    .values({ model: $.model, id_hash: $.idHash, payload: $.payload, created_at: $.now, expires_at: $.expiresAt })
    .onConflict(conflict =>
      conflict.columns(['model', 'id_hash']).doUpdateSet({ payload: $.payload, expires_at: $.expiresAt }),
    ),
);

/** Stores a record without a grant: a client, or a request that awaits consent. */
export async function storeRecord(
  db: Queryable,
  { id, ...record }: Omit<NewRecord, 'idHash'> & { id: string },
): Promise<void> {
  await db.query(insertRecord, { ...record, idHash: hashOfId(id) });
}

/**
 * Locks the grant and its row in api_tokens. So no token is issued after the grant has ended or its user was removed, and
 * redemptions under one grant wait for each other. The grant, its row in api_tokens and its client live as long as the
 * newest token, so that unused ones expire by themselves. The grant names the account, so the statement starts without one.
 */
const insertUnderGrant = query('store_oauth_record_under_grant', (db, $: Arguments<NewRecordUnderGrant>) =>
  db
    .with(
      cte => cte('of_grant').materialized(),
      cte =>
        cte
          .selectFrom('oauth_records as g')
          .innerJoin('api_tokens as t', join =>
            join.onRef('t.account_id', '=', 'g.account_id').onRef('t.id', '=', 'g.token_id'),
          )
          .select(['g.id_hash', 'g.token_id', 'g.user_id', 'g.account_id'])
          .where(g => g.and({ 'g.model': 'Grant', 'g.id_hash': $.grantHash, 't.revoked_at': null }))
          .where('t.expires_at', '>', $.now)
          .forNoKeyUpdate(['g', 't']),
    )
    .with('grant_kept', cte =>
      cte
        .updateTable('oauth_records as r')
        .from('of_grant as g')
        .set(r => ({ expires_at: r.fn<string>('greatest', ['r.expires_at', $.expiresAt]) }))
        .where('r.model', '=', 'Grant')
        .whereRef('r.id_hash', '=', 'g.id_hash'),
    )
    .with('token_kept', cte =>
      cte
        .updateTable('api_tokens as t')
        .from('of_grant as g')
        .set(t => ({ expires_at: t.fn<string>('greatest', ['t.expires_at', $.expiresAt]) }))
        .whereRef('t.account_id', '=', 'g.account_id')
        .whereRef('t.id', '=', 'g.token_id'),
    )
    .with('client_kept', cte =>
      cte
        .updateTable('oauth_records as r')
        .from('of_grant')
        .set(r => ({ expires_at: r.fn<string>('greatest', ['r.expires_at', $.clientKeptUntil]) }))
        .where(r => r.and({ 'r.model': 'Client', 'r.id_hash': $.clientHash })),
    )
    .insertInto('oauth_records')
    .columns([
      'model',
      'id_hash',
      'payload',
      'user_id',
      'token_id',
      'account_id',
      'grant_id',
      'parent_hash',
      'created_at',
      'expires_at',
    ])
    .expression(from =>
      from
        .selectFrom('of_grant')
        .select([
          $.model.as('model'),
          $.idHash.as('id_hash'),
          $.payload.as('payload'),
          'user_id',
          'token_id',
          'account_id',
          $.grantId.as('grant_id'),
          $.parentHash.as('parent_hash'),
          $.now.as('created_at'),
          $.expiresAt.as('expires_at'),
        ]),
    )
    .returning('token_id'),
);

interface NewRecordUnderGrant extends NewRecord {
  grantId: string;
  grantHash: Buffer;
  clientHash: Buffer;
  clientKeptUntil: Date;
  parentHash: Buffer | null;
}

/** A code or a token that the provider issues under a grant. */
export interface RecordUnderGrant extends Omit<NewRecord, 'idHash'> {
  id: string;
  grantId: string;
  clientId: string;
  clientKeptUntil: Date;
}

/** Stores a code or a token under its grant. Returns false if the grant has ended. */
export async function storeUnderGrant(
  db: Queryable,
  record: RecordUnderGrant,
  parentId: string | null = null,
): Promise<boolean> {
  const stored = await db.query(insertUnderGrant, {
    ...record,
    idHash: hashOfId(record.id),
    grantHash: hashOfId(record.grantId),
    clientHash: hashOfId(record.clientId),
    parentHash: parentId === null ? null : hashOfId(parentId),
  });
  return stored.length > 0;
}

interface RecordKey {
  model: string;
  idHash: Buffer;
}

/** Starts without an account: the record names its account, and its hash finds it. */
const selectRecord = query('find_oauth_record', (db, $: Arguments<RecordKey & { now: Date }>) =>
  db
    .selectFrom('oauth_records as r')
    .leftJoin('api_tokens as t', join =>
      join.onRef('t.account_id', '=', 'r.account_id').onRef('t.id', '=', 'r.token_id'),
    )
    .leftJoin('accounts as a', 'a.id', 'r.account_id')
    .leftJoin('users as u', 'u.id', 't.issuer_id')
    .select(['r.payload', 'r.consumed_at'])
    .where(r => r.and({ 'r.model': $.model, 'r.id_hash': $.idHash }))
    .where('r.expires_at', '>', $.now)
    .where(r =>
      r.or([
        r('r.token_id', 'is', null),
        r('t.expires_at', '>', $.now).and(
          r.and({ 't.revoked_at': null, 'a.erasure_began_at': null, 'u.erasure_began_at': null }),
        ),
      ]),
    ),
);

/** Finds a record that has not expired and whose grant has not ended. */
export async function findRecord(
  db: Queryable,
  model: string,
  id: string,
  now: Date,
): Promise<FoundRecord | undefined> {
  const [row] = await db.query(selectRecord, { model, idHash: hashOfId(id), now });
  return row && { payload: row.payload, consumedAt: row.consumed_at };
}

const markConsumed = query('consume_oauth_record', (db, $: Arguments<RecordKey & { now: Date }>) =>
  db
    .updateTable('oauth_records')
    .set({ consumed_at: $.now })
    .where(r => r.and({ model: $.model, id_hash: $.idHash, consumed_at: null }))
    .returning('model'),
);

/** Redeems a code or a refresh token. Of two parallel requests only one gets true. */
export async function consumeRecord(db: Queryable, model: string, id: string, now: Date): Promise<boolean> {
  return (await db.query(markConsumed, { model, idHash: hashOfId(id), now })).length > 0;
}

/**
 * is_in_leeway: the token was redeemed a moment ago, and no refresh token that it issued has been redeemed.
 * issued_count: the number of refresh tokens that it has issued. The query finds them by the index on grant_id: a grant
 * has few, so parent_hash needs no index.
 */
const selectRepetition = query('judge_oauth_repetition', (db, $: Arguments<{ idHash: Buffer; redeemedAfter: Date }>) =>
  db
    .selectFrom('oauth_records as r')
    .leftJoin('oauth_records as c', join =>
      join.onRef('c.grant_id', '=', 'r.grant_id').onRef('c.parent_hash', '=', 'r.id_hash'),
    )
    .select(r => [
      r.and([r('r.consumed_at', '>', $.redeemedAfter), r(r.fn.count('c.consumed_at'), '=', 0)]).as('is_in_leeway'),
      r.fn.count<number>('c.id_hash').as('issued_count'),
    ])
    .where(r => r.and({ 'r.model': 'RefreshToken', 'r.id_hash': $.idHash }))
    .groupBy(['r.id_hash', 'r.consumed_at']),
);

/** The state of a refresh token that was redeemed before. */
export type Repetition = RowOf<typeof selectRepetition>;

/** Reads the state of a refresh token; undefined if it has expired and was deleted. */
export async function judgeRepetition(db: Queryable, id: string, redeemedAfter: Date): Promise<Repetition | undefined> {
  const [repetition] = await db.query(selectRepetition, { idHash: hashOfId(id), redeemedAfter });
  return repetition;
}

const deleteRecord = query('delete_oauth_record', (db, $: Arguments<RecordKey>) =>
  db
    .deleteFrom('oauth_records')
    .where(r => r.and({ model: $.model, id_hash: $.idHash }))
    .returning('model'),
);

/** Returns whether the record existed. Of two parallel requests only one gets true. */
export async function removeRecord(db: Queryable, model: string, id: string): Promise<boolean> {
  return (await db.query(deleteRecord, { model, idHash: hashOfId(id) })).length > 0;
}
