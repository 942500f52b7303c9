import { sql as fragment, type Kysely } from 'kysely';
import type { Tables } from '../database/tables.ts';

/** The columns of PostgreSQL's catalogs that this folder reads. */
export type Catalogs = {
  pg_class: { oid: number; relname: string; relnamespace: number; relkind: string; relpersistence: string };
  pg_namespace: { oid: number; nspname: string };
  pg_attribute: { attrelid: number; attname: string; attnum: number; attisdropped: boolean };
  pg_depend: { classid: number; objid: number; deptype: string };
  pg_locks: { pid: number; relation: number; mode: string; granted: boolean; locktype: string; database: number };
  pg_stat_activity: { pid: number; datname: string; application_name: string; backend_type: string };
  pg_database: { oid: number; datname: string; encoding: number; datcollate: string; datctype: string };
};

/** Selects tables and other relations, except the relations of PostgreSQL itself and of PostgreSQL extensions. */
function relations(db: Kysely<Tables>) {
  return db
    .withTables<Catalogs>()
    .selectFrom('pg_class as c')
    .innerJoin('pg_namespace as n', 'n.oid', 'c.relnamespace')
    .where('n.nspname', 'not in', ['pg_catalog', 'information_schema'])
    .where(fragment<boolean>`n.nspname !~ '^pg_(toast|temp)'`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('pg_depend as d')
            .whereRef('d.objid', '=', 'c.oid')
            .where('d.classid', '=', fragment<number>`'pg_class'::regclass`)
            .where('d.deptype', '=', 'e'),
        ),
      ),
    );
}

export async function countRelations(db: Kysely<Tables>, exceptSchema: string): Promise<number> {
  const { count } = await relations(db)
    .where('n.nspname', '<>', exceptSchema)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Selects the tables whose rows a backup contains: all tables except unlogged ones. */
export function selectTables(db: Kysely<Tables>, exceptSchema: string) {
  return relations(db)
    .where('c.relkind', '=', 'r')
    .where('c.relpersistence', '=', 'p')
    .where('n.nspname', '<>', exceptSchema)
    .select(['c.oid', 'n.nspname as schema', 'c.relname as name'])
    .orderBy('n.nspname')
    .orderBy('c.relname')
    .execute();
}

/** Counts the rows of each table in a backup, including the tables of the job queue and of extensions. */
export async function countRows(db: Kysely<Tables>, exceptSchema: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { schema, name } of await selectTables(db, exceptSchema)) {
    const { count } = await db
      .selectFrom(fragment<object>`${fragment.id(schema, name)}`.as('counted'))
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    counts[`${schema}.${name}`] = count;
  }
  return counts;
}

/** Whether a table exists and has all the given columns. A database of an older version may lack some of them. */
export async function hasColumns(db: Kysely<Tables>, table: string, columns: readonly string[]): Promise<boolean> {
  const { count } = await db
    .withTables<Catalogs>()
    .selectFrom('pg_attribute as a')
    .where('a.attrelid', '=', fragment<number>`to_regclass(${table})`)
    .where('a.attname', 'in', columns)
    .where('a.attisdropped', '=', false)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count === columns.length;
}
