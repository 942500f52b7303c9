import { createHash } from 'node:crypto';
import { type Expression, type Kysely, sql } from 'kysely';
import type { Tables } from '../database/tables.ts';
import type { ExternalKind } from '../entities/external-id.ts';
import type { RecordOf, RecordType } from './archive.ts';
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

/** An account, and the prefix that `readOrigin` returns for the account. */
export interface Origin {
  accountId: number;
  origin: string;
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

/** The maximum number of rows of a kind that an import remembers. It limits the memory that the import needs. */
const maxSeen = 200_000;

/**
 * Maps external ids to the ids of rows, without the unknown external ids. Some of these rows may no longer exist.
 * Remembers the found rows, because many records of an archive refer to the same rows.
 */
export async function findRows(
  { db, options: { accountId }, seen }: Pick<ImportBatch, 'db' | 'options' | 'seen'>,
  kind: ExternalKind,
  externalIds: Iterable<string | null>,
): Promise<Map<string, number>> {
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
    .where(e => e.and({ account_id: accountId, kind }))
    .where(e => e('external_id', '=', e.fn.any(e.val(unseen))))
    .execute();
  for (const { external_id, id } of rows) {
    found.set(external_id, id);
    ofKind.set(external_id, id);
  }
  return found;
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

/** The types whose rows get their ids before the import writes them, with their tables. */
const numberedTables = { idea: 'ideas', comment: 'comments', note: 'idea_notes' } as const;

type NumberedType = keyof typeof numberedTables;

export function isNumbered(type: RecordType): type is NumberedType {
  return Object.hasOwn(numberedTables, type);
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
    .select(sql<number>`nextval(pg_get_serial_sequence(${numberedTables[kind]}, 'id'))`.as('id'))
    .execute();
  const ids = rows.map(({ id }) => id).sort((one, other) => one - other);
  return records.map(one => (known.has(one.record.id) ? one : { ...one, rowId: ids.shift() }));
}
