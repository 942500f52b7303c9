import { createHash } from 'node:crypto';
import { type Expression, type Kysely, sql } from 'kysely';
import type { Tables } from '../database/tables.ts';
import type { ExternalKind } from '../entities/external-id.ts';
import type { Origin, RecordOf, RecordType } from './archive.ts';
import { type ImportBatch, idsOf, type PlacedRecord } from './import-batch.ts';

/**
 * Returns the prefix of the archive ids for rows that no import created. The prefix of an account never changes. Two
 * accounts have different prefixes, so that their archive ids do not collide after an import into one account.
 */
export async function readOrigin(db: Kysely<Tables>, accountId: number): Promise<string> {
  const { created_at } = await db
    .selectFrom('accounts')
    .select('created_at')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow();
  return createHash('sha256').update(`${accountId} ${created_at}`).digest('hex').slice(0, 12);
}

/**
 * Returns the archive id of a row: its external id from an import, or the account's prefix and the row's own id. A row
 * can have several external ids, for example if two records had the same e-mail address. The smallest one counts.
 */
export function archiveId({ accountId, origin }: Origin, kind: ExternalKind, id: Expression<number | null>) {
  const column = sql.ref(kind === 'person' ? 'x.user_id' : 'x.row_id');
  return sql<string>`coalesce(
    (
      select min(x.external_id collate "C") from external_ids x
      where x.account_id = ${accountId} and x.kind = ${sql.lit(kind)} and ${column} = ${id}
    ),
    ${origin}::text || ':' || ${id}
  )`;
}

/** Selects the ids of the users whose records an export of the account contains. */
export function peopleOf(db: Kysely<Tables>, accountId: number) {
  const idOf = <Table extends 'memberships' | 'voters' | 'followers' | 'user_blocks'>(table: Table) =>
    db
      .selectFrom(table as 'memberships')
      .select('user_id as id')
      .where('account_id', '=', accountId);
  const authorOf = (table: 'ideas' | 'comments' | 'idea_notes') =>
    db.selectFrom(table).select('author_id as id').where('account_id', '=', accountId);
  return idOf('memberships')
    .union(idOf('voters'))
    .union(idOf('followers'))
    .union(idOf('user_blocks'))
    .union(authorOf('ideas'))
    .union(authorOf('comments'))
    .union(authorOf('idea_notes'));
}

/** The maximum number of rows of a kind that an import remembers. It limits the memory that the import needs. */
const maxSeen = 200_000;

/**
 * Maps external ids, and the archive ids that an export has given to the account's own rows, to the ids of rows. Leaves
 * out unknown ids. Some of the rows may no longer exist. Remembers the found rows, because many records of an archive
 * refer to the same rows.
 */
export async function findRows(
  batch: Pick<ImportBatch, 'db' | 'options' | 'seen'>,
  kind: ExternalKind,
  externalIds: Iterable<string | null>,
): Promise<Map<string, number>> {
  const { db, options, seen } = batch;
  const earlier = seen.get(kind);
  const ofKind = earlier && earlier.size <= maxSeen ? earlier : new Map<string, number>();
  seen.set(kind, ofKind);
  const found = new Map<string, number>();
  const unseen: string[] = [];
  for (const externalId of new Set(externalIds)) {
    if (externalId === null) continue;
    const id = ofKind.get(externalId);
    if (id === undefined) unseen.push(externalId);
    else found.set(externalId, id);
  }
  if (unseen.length === 0) return found;
  const rows = await db
    .selectFrom('external_ids')
    .select(e => ['external_id', e.fn.coalesce('row_id', 'user_id').$notNull().as('id')])
    .where(e => e.and({ account_id: options.accountId, kind }))
    .where(e => e('external_id', '=', e.fn.any(e.val(unseen))))
    .execute();
  for (const { external_id, id } of rows) found.set(external_id, id);
  for (const id of await findOwnRows(batch, kind, unseen)) {
    const externalId = `${options.origin}:${id}`;
    // A row that came from an archive of this account, because the account's own row was gone, has an external id.
    if (!found.has(externalId)) found.set(externalId, id);
  }
  for (const externalId of unseen) {
    const id = found.get(externalId);
    if (id !== undefined) ofKind.set(externalId, id);
  }
  return found;
}

/** The tables of the kinds whose rows belong to an account. */
const tables = {
  board: 'boards',
  status: 'statuses',
  tag: 'tags',
  idea: 'ideas',
  comment: 'comments',
  note: 'idea_notes',
  voter: 'voters',
  merge: 'merges',
} as const;

/**
 * Returns the ids of the account's own rows among archive ids. An idea, comment or note needs no row: every id up to
 * the last value of its sequence once had a row, which the import must not bring back.
 */
async function findOwnRows(
  { db, options: { accountId, origin } }: Pick<ImportBatch, 'db' | 'options'>,
  kind: ExternalKind,
  archiveIds: readonly string[],
): Promise<number[]> {
  const ids = archiveIds
    .filter(id => id.startsWith(`${origin}:`))
    .map(id => id.slice(origin.length + 1))
    .filter(id => /^[1-9]\d{0,14}$/.test(id))
    .map(Number);
  if (ids.length === 0) return [];
  if (isNumbered(kind)) {
    const { last } = await db
      .selectNoFrom(
        sql<number | null>`pg_sequence_last_value(pg_get_serial_sequence(${tables[kind]}, 'id')::regclass)`.as('last'),
      )
      .executeTakeFirstOrThrow();
    return ids.filter(id => id <= (last ?? 0));
  }
  const own =
    kind === 'person'
      ? peopleOf(db, accountId)
      : db
          .selectFrom(tables[kind] as 'boards')
          .select('id')
          .where('account_id', '=', accountId);
  const rows = await db
    .selectFrom(own.as('own'))
    .select('own.id')
    .where(row => row('own.id', '=', row.fn.any(row.val(ids))))
    .execute();
  return rows.map(({ id }) => id);
}

export async function insertExternalIds(
  db: Kysely<Tables>,
  accountId: number,
  kind: ExternalKind,
  rows: readonly (readonly [externalId: string, id: number])[],
): Promise<void> {
  if (rows.length === 0) return;
  const column = kind === 'person' ? 'user_id' : 'row_id';
  await db
    .insertInto('external_ids')
    .columns(['account_id', 'kind', 'external_id', column])
    .expression(e =>
      e
        .selectFrom(
          sql<{ external_id: string; id: number }>`unnest(
            ${rows.map(([externalId]) => externalId)}::text[], ${rows.map(([, id]) => id)}::bigint[]
          )`.as<'u'>(sql`u(external_id, id)`),
        )
        .select(u => [u.val(accountId).as('account_id'), u.val(kind).as('kind'), 'u.external_id', 'u.id']),
    )
    .execute();
}

/** The types whose rows get their ids before the import writes them. */
const numberedTypes = ['idea', 'comment', 'note'] as const;

type NumberedType = (typeof numberedTypes)[number];

export function isNumbered(type: RecordType): type is NumberedType {
  return numberedTypes.some(one => one === type);
}

/**
 * Reserves the ids of the rows that the import will write, in the order of the records. So transactions that write at
 * the same time keep this order.
 */
export async function reserveIds<One extends PlacedRecord<RecordOf<NumberedType>>>(
  batch: Pick<ImportBatch, 'db' | 'options' | 'seen'>,
  kind: NumberedType,
  records: readonly One[],
): Promise<One[]> {
  const known = await findRows(batch, kind, idsOf(records));
  const count = records.filter(({ record }) => !known.has(record.id)).length;
  const rows = await batch.db
    .selectFrom(sql<{ n: number }>`generate_series(1, ${count}::int)`.as<'s'>(sql`s(n)`))
    .select(sql<number>`nextval(pg_get_serial_sequence(${tables[kind]}, 'id'))`.as('id'))
    .execute();
  const ids = rows.map(({ id }) => id).sort((one, other) => one - other);
  return records.map(one => (known.has(one.record.id) ? one : { ...one, rowId: ids.shift() }));
}
