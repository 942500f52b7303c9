import { createHash } from 'node:crypto';
import { type Expression, type Kysely, sql } from 'kysely';
import type { Tables } from '../database/tables.ts';
import type { ExternalKind } from '../entities/external-id.ts';

/**
 * Returns the beginning of the archive ids of rows that were created in this account. It never changes, and it differs
 * from account to account, so that ids of several accounts never collide in one account.
 */
export async function readOrigin(db: Kysely<Tables>, accountId: number): Promise<string> {
  const { created_at } = await db
    .selectFrom('accounts')
    .select('created_at')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow();
  return createHash('sha256').update(`${accountId} ${created_at}`).digest('hex').slice(0, 12);
}

/** The rows of an account whose archive ids a statement reads. */
export interface Origin {
  accountId: number;
  origin: string;
}

/**
 * The archive id of a row: the external id that the row had in the first import, or an id that contains the row's own
 * id. An import may have found several records of one person. Then the export always takes the same one of their ids.
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

/** Finds the rows of external ids. The map lacks unknown ids. The row of a known id may no longer exist. */
export async function findRows(
  db: Kysely<Tables>,
  accountId: number,
  kind: ExternalKind,
  externalIds: Iterable<string | null>,
): Promise<Map<string, number>> {
  const wanted = [...new Set(externalIds)].filter(id => id !== null);
  if (wanted.length === 0) return new Map();
  const rows = await db
    .selectFrom('external_ids')
    .select(e => ['external_id', e.fn.coalesce('row_id', 'user_id').$notNull().as('id')])
    .where(e => e.and({ account_id: accountId, kind }))
    .where(e => e('external_id', '=', e.fn.any(e.val(wanted))))
    .execute();
  return new Map(rows.map(row => [row.external_id, row.id]));
}

export async function insertExternalIds(
  db: Kysely<Tables>,
  accountId: number,
  kind: ExternalKind,
  rows: readonly (readonly [externalId: string, id: number])[],
): Promise<void> {
  if (rows.length === 0) return;
  await db
    .insertInto('external_ids')
    .values(
      rows.map(([external_id, id]) => ({
        account_id: accountId,
        kind,
        external_id,
        row_id: kind === 'person' ? null : id,
        user_id: kind === 'person' ? id : null,
      })),
    )
    .execute();
}
