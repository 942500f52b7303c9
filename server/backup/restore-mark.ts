import { sql as fragment, type Kysely } from 'kysely';
import type { Tables } from '../database/tables.ts';
import { type Catalogs, countRelations } from './catalogs.ts';

/**
 * A schema that marks a database as restored but not yet checked. pg_restore commits in one transaction, so a marked
 * database has either no data or all data of the backup.
 */
export const markSchema = 'idea_board_restore' as const;

const markTable = `${markSchema}.backup` as const;

type MarkTables = Record<typeof markTable, { sha256: string }>;

interface RestoreState {
  /** Whether the database contains no tables and other relations, apart from those of PostgreSQL extensions. */
  isEmpty: boolean;
  /** The checksum of the dump in the mark. Undefined if the database has no mark. */
  begun: string | undefined;
}

export async function readRestoreState(db: Kysely<Tables>): Promise<RestoreState> {
  const isEmpty = (await countRelations(db, markSchema)) === 0;
  const mark = await db
    .withTables<Catalogs>()
    .selectFrom('pg_namespace')
    .select('nspname')
    .where('nspname', '=', markSchema)
    .executeTakeFirst();
  if (mark === undefined) return { isEmpty, begun: undefined };
  const row = await db.withTables<MarkTables>().selectFrom(markTable).select('sha256').executeTakeFirst();
  return { isEmpty, begun: row?.sha256 };
}

/** Marks the database in one transaction, so that a mark always has its checksum. */
export async function beginRestore(db: Kysely<Tables>, sha256: string): Promise<void> {
  await db.transaction().execute(async transaction => {
    await dropMark(transaction);
    await transaction.schema.createSchema(markSchema).execute();
    await transaction.schema.createTable(markTable).addColumn('sha256', 'text').execute();
    await transaction.withTables<MarkTables>().insertInto(markTable).values({ sha256 }).execute();
  });
}

export async function dropMark(db: Kysely<Tables>): Promise<void> {
  await fragment`drop schema if exists ${fragment.id(markSchema)} cascade`.execute(db);
}
