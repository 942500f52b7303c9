import { hash } from 'node:crypto';
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
  return hash('sha256', id, 'buffer');
}

interface NewRecord {
  model: string;
  payload: OauthPayload;
  now: Date;
  expiresAt: Date;
}

/** The grant that a record belongs to, with its token. */
interface GrantOfRecord {
  grantId: string | null;
  userId: number | null;
  tokenId: number | null;
  accountId: number | null;
  /** The hash of the refresh token that issued this record. */
  parentHash: Buffer | null;
}

const insertRecord = query('store_oauth_record', (db, $: Arguments<NewRecord & RecordKey & GrantOfRecord>) =>
  db
    .insertInto('oauth_records')
    .values({
      model: $.model,
      id_hash: $.idHash,
      payload: $.payload,
      user_id: $.userId,
      token_id: $.tokenId,
      account_id: $.accountId,
      grant_id: $.grantId,
      parent_hash: $.parentHash,
      created_at: $.now,
      expires_at: $.expiresAt,
    })
    .onConflict(conflict =>
      conflict.columns(['model', 'id_hash']).doUpdateSet({ payload: $.payload, expires_at: $.expiresAt }),
    ),
);

/** Stores a record without a grant: a client, or a request that awaits consent. */
export async function storeRecord(db: Queryable, { id, ...record }: NewRecord & { id: string }): Promise<void> {
  const noGrant = { grantId: null, userId: null, tokenId: null, accountId: null, parentHash: null };
  await db.query(insertRecord, { ...record, ...noGrant, idHash: hashOfId(id) });
}

/** Starts without an account, because the grant names it. */
const lockGrant = query('lock_oauth_grant', (db, $: Arguments<{ idHash: Buffer; now: Date }>) =>
  db
    .selectFrom('oauth_records as g')
    .innerJoin('api_tokens as t', join =>
      join.onRef('t.account_id', '=', 'g.account_id').onRef('t.id', '=', 'g.token_id'),
    )
    .select(['g.user_id as userId', 't.id as tokenId', 't.account_id as accountId'])
    .where(g => g.and({ 'g.model': 'Grant', 'g.id_hash': $.idHash, 't.revoked_at': null }))
    .where('t.expires_at', '>', $.now)
    .forNoKeyUpdate(['g', 't']),
);

const extendRecord = query('extend_oauth_record', (db, $: Arguments<RecordKey & { expiresAt: Date }>) =>
  db
    .updateTable('oauth_records')
    .set(r => ({ expires_at: r.fn<string>('greatest', ['expires_at', $.expiresAt]) }))
    .where(r => r.and({ model: $.model, id_hash: $.idHash })),
);

const extendToken = query(
  'extend_oauth_token',
  (db, $: Arguments<{ accountId: number; tokenId: number; expiresAt: Date }>) =>
    db
      .updateTable('api_tokens')
      .set(t => ({ expires_at: t.fn<string>('greatest', ['expires_at', $.expiresAt]) }))
      .where(t => t.and({ account_id: $.accountId, id: $.tokenId })),
);

/** A code or a token that the provider issues under a grant. */
export interface RecordUnderGrant extends NewRecord {
  id: string;
  grantId: string;
  clientId: string;
  clientKeptUntil: Date;
}

/**
 * Stores a code or a token under its grant, in a transaction. Returns false if the grant has ended.
 *
 * The lock of the grant and its row in api_tokens prevents a token after the grant has ended or its user was removed.
 * Redemptions under one grant wait for each other. The grant, its row in api_tokens and its client live as long as the
 * newest token, so that unused ones expire by themselves.
 */
export async function storeUnderGrant(
  db: Queryable,
  { id, clientId, clientKeptUntil, ...record }: RecordUnderGrant,
  parentId: string | null = null,
): Promise<boolean> {
  const { grantId, now, expiresAt } = record;
  const grantHash = hashOfId(grantId);
  const [grant] = await db.query(lockGrant, { idHash: grantHash, now });
  if (!grant) return false;
  await db.query(extendRecord, { model: 'Grant', idHash: grantHash, expiresAt });
  await db.query(extendToken, { ...grant, expiresAt });
  await db.query(extendRecord, { model: 'Client', idHash: hashOfId(clientId), expiresAt: clientKeptUntil });
  const parentHash = parentId === null ? null : hashOfId(parentId);
  await db.query(insertRecord, { ...record, ...grant, parentHash, idHash: hashOfId(id) });
  return true;
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
