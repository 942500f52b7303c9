import type pg from 'pg';
import type { Database } from '../../server/database/database.ts';

/** A copy of a template with an open connection pool. */
export interface OpenDatabase {
  url: string;
  database: Database;
  drop(): Promise<void>;
}

/** The state of the template database. */
interface Template {
  /** A text that changes with the schema. */
  schema: string;
  /** The non-empty tables with a hash of their rows. */
  rows: Map<string, string>;
  /** The last value of each used sequence. */
  sequences: Map<string, string>;
  /** The names of all tables. A table comes before the tables that it refers to. */
  tables: string[];
}

let template: Template | undefined;
const restored: OpenDatabase[] = [];

/** The size of a table in bytes above which a new copy of the template is faster than deleting the rows. */
const largestTable = 512 * 1024;

/**
 * Returns a restored database of an earlier test file of this process, with its connection pool. PostgreSQL has already
 * filled the caches of these connections. A new connection spends up to 90 ms on its caches of tables and functions.
 */
export function takeRestoredDatabase(): OpenDatabase | undefined {
  return restored.pop();
}

/** Reads the state of the template from a new copy. */
export async function rememberTemplate({ database: { pool } }: OpenDatabase) {
  if (template) return;
  const { schema, tables, sequences } = await stateOf(pool);
  const rows = new Map<string, string>();
  for (const { name } of tables.filter(({ bytes }) => bytes > 0)) rows.set(name, await hashOf(pool, name));
  template = { schema, rows, sequences: new Map(Object.entries(sequences)), tables: await orderTables(pool) };
}

/**
 * Restores the rows and sequences of the template, so that the next test file can use the database. Returns false if
 * the test file changed the schema or the template's rows, stored much data, or left connections in use.
 */
export async function restoreDatabase(db: OpenDatabase): Promise<boolean> {
  const { pool } = db.database;
  if (!template || pool.ended || pool.ending || pool.idleCount < pool.totalCount) return false;
  try {
    const state = await stateOf(pool);
    if (state.schema !== template.schema || (await countStrangers(pool)) > 0) return false;
    if (state.tables.some(({ bytes }) => bytes > largestTable)) return false;
    const written = new Set(state.tables.filter(({ bytes }) => bytes > 0).map(({ name }) => name));
    for (const [name, hash] of template.rows) if ((await hashOf(pool, name)) !== hash) return false;
    const statements = template.tables
      .filter(name => written.has(name) && !template?.rows.has(name))
      .map(name => `delete from ${name}`);
    for (const [name, value] of Object.entries(state.sequences)) {
      const before = template.sequences.get(name);
      if (before === value) continue;
      if (before !== undefined) return false;
      statements.push(
        `select setval('${name}', (select seqstart from pg_sequence where seqrelid = '${name}'::regclass), false)`,
      );
    }
    await pool.query(statements.join(';\n'));
    restored.push(db);
    return true;
  } catch {
    // The test file may have dropped the database.
    return false;
  }
}

async function stateOf(pool: pg.Pool) {
  const { rows } = await pool.query<{
    schema: string;
    tables: { name: string; bytes: number }[];
    sequences: Record<string, string>;
  }>({ name: 'state_of_test_database', text: stateQuery });
  return rows[0] as (typeof rows)[0];
}

/**
 * Every change of the schema inserts, replaces or deletes rows of these catalogs. The column `xmin` of a new row
 * contains the id of its transaction, so the sum of all `xmin` changes.
 */
const catalogs = [
  'pg_class',
  'pg_attribute',
  'pg_attrdef',
  'pg_constraint',
  'pg_trigger',
  'pg_proc',
  'pg_index',
  'pg_type',
  'pg_namespace',
  'pg_rewrite',
  'pg_policy',
  'pg_extension',
];
const isOwn = `c.relnamespace in (select oid from pg_namespace where nspname in ('public', 'graphile_worker'))`;
const stateQuery = `select
  concat_ws(',', ${catalogs.map(name => `(select count(*) || ':' || sum(xmin::text::bigint) from ${name})`).join(', ')},
    (select sum(reltuples) from pg_class), (select count(*) from pg_db_role_setting)) as schema,
  (select jsonb_agg(jsonb_build_object('name', c.oid::regclass::text, 'bytes', pg_relation_size(c.oid)))
    from pg_class c where c.relkind = 'r' and ${isOwn}) as tables,
  (select coalesce(jsonb_object_agg(c.oid::regclass::text, pg_sequence_last_value(c.oid)::text)
      filter (where pg_sequence_last_value(c.oid) is not null), '{}')
    from pg_class c where c.relkind = 'S' and ${isOwn}) as sequences`;

async function hashOf(pool: pg.Pool, table: string): Promise<string> {
  const { rows } = await pool.query<{ hash: string }>(
    `select count(*) || coalesce(md5(string_agg(row, ',')), '') as hash from (select t::text as row from ${table} t order by 1) rows`,
  );
  return rows[0]?.hash ?? '';
}

/**
 * Counts the connections that do not belong to the pool, because these connections could still write to the database.
 */
async function countStrangers(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name <> 'idea-board probe'`,
  );
  return (rows[0]?.count ?? 0) - pool.totalCount;
}

/** Returns the names of all tables. A table comes before the tables to which its foreign keys refer. */
async function orderTables(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; targets: string[] }>(
    `select c.oid::regclass::text as name,
      array(select confrelid::regclass::text from pg_constraint where contype = 'f' and conrelid = c.oid
        and confrelid <> c.oid) as targets
    from pg_class c where c.relkind = 'r' and ${isOwn}`,
  );
  const ordered: string[] = [];
  const visit = (name: string) => {
    if (ordered.includes(name)) return;
    for (const target of rows.find(row => row.name === name)?.targets ?? []) visit(target);
    ordered.push(name);
  };
  for (const { name } of rows) visit(name);
  return ordered.reverse();
}
