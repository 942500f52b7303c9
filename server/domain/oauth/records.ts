import { hash } from 'node:crypto';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { OauthRecord } from '../../entities/oauth-record.ts';

/** A JSON document of oidc-provider (the library). In it, accountId is the id of a user, not of an account. */
export type OauthPayload = OauthRecord['payload'];

export interface FoundRecord {
  payload: OauthPayload;
  /** The time when the client redeemed the authorization code or refresh token. */
  consumedAt: string | null;
}

/** The id of a code or token is its secret text, so the database stores only the hash. */
export function hashOfId(id: string): Buffer {
  return hash('sha256', id, 'buffer');
}

interface NewRecord {
  model: string;
  payload: OauthPayload;
  now: Date;
  expiresAt: Date;
}

interface GrantOfRecord {
  grantId: string | null;
  userId: number | null;
  tokenId: number | null;
  accountId: number | null;
  /** The hash of the refresh token that the client redeemed to get this record. */
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

/**
 * Stores a record without a grant: a client, its registration access token, or an authorization request that awaits
 * consent.
 */
export async function storeRecord(db: Queryable, { id, ...record }: NewRecord & { id: string }): Promise<void> {
  const noGrant = { grantId: null, userId: null, tokenId: null, accountId: null, parentHash: null };
  await db.query(insertRecord, { ...record, ...noGrant, idHash: hashOfId(id) });
}

/**
 * Searches all accounts, because the caller does not know the account. The row of the grant contains the account's id.
 */
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

export interface RecordUnderGrant extends NewRecord {
  id: string;
  grantId: string;
  clientId: string;
  clientKeptUntil: Date;
}

/**
 * Stores an authorization code or an OAuth token under its grant. Call this function in a transaction. Returns false if
 * the grant has ended.
 *
 * The function locks the grant and the API token of the grant. So it stores nothing after the grant has ended or the
 * user was removed. Two requests that redeem tokens of the same grant run one after the other.
 *
 * The function extends the life of the grant and its API token to at least that of the new record. It extends the life
 * of the client to at least clientKeptUntil. So only grants and clients that nobody uses expire.
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

/**
 * Searches all accounts, because the caller does not know the account. The row of the record contains the account's id.
 */
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

/** Finds a record if it has not expired and its grant has not ended. */
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

/**
 * Marks an authorization code or refresh token as redeemed. If two requests call this function at the same time, it
 * returns true only to the first.
 */
export async function consumeRecord(db: Queryable, model: string, id: string, now: Date): Promise<boolean> {
  return (await db.query(markConsumed, { model, idHash: hashOfId(id), now })).length > 0;
}

/**
 * Selects the state of a refresh token that a client redeems again. `is_in_leeway` is true if two things are true: the
 * token was redeemed a moment ago, and the client has redeemed no refresh token that it got in exchange. `issued_count`
 * is the number of refresh tokens that the client got in exchange. The query uses the index on grant_id. A grant has
 * few records, so parent_hash needs no index.
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

export type Repetition = RowOf<typeof selectRepetition>;

/**
 * Returns the state of a refresh token that a client redeems again. Returns undefined if the refresh token was deleted,
 * for example after it expired.
 */
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

/**
 * Deletes a record. Returns true if the record existed. If two requests call this function at the same time, it returns
 * true only to the first.
 */
export async function removeRecord(db: Queryable, model: string, id: string): Promise<boolean> {
  return (await db.query(deleteRecord, { model, idHash: hashOfId(id) })).length > 0;
}
