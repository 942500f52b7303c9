import { type Kysely, sql } from 'kysely';
import { placementOf, tableKinds } from './table-kinds.ts';
import type { Tables } from './tables.ts';

/** The oldest version of Citus that `distribute` accepts. */
export const oldestCitus = 13;

export interface Step {
  statement: string;
  /** The reason for the step, for the operator. Null if the statement explains itself. */
  note: string | null;
}

interface ForeignKey {
  name: string;
  table: string;
  target: string;
  definition: string;
}

interface UniqueIndex {
  name: string;
  table: string;
  /** Whether the index belongs to a constraint of the same name. */
  is_constraint: boolean;
}

/** Reads the installed version of Citus. Undefined if the database does not have the extension. */
export async function readCitusVersion(db: Kysely<Tables>): Promise<string | undefined> {
  const [citus] = await db
    .selectFrom(
      sql<{ version: string }>`(select extversion as version from pg_extension where extname = 'citus')`.as('c'),
    )
    .select('c.version')
    .execute();
  return citus?.version;
}

/** Counts the worker nodes of Citus, and reads whether the coordinator is added. */
export async function readCitusNodes(db: Kysely<Tables>): Promise<{ workers: number; has_coordinator: boolean }> {
  const [nodes] = await db
    .selectFrom(
      sql<{ workers: number; has_coordinator: boolean }>`(
        select count(*) filter (where groupid > 0 and shouldhaveshards)::int as workers,
          count(*) filter (where groupid = 0) > 0 as has_coordinator
        from pg_dist_node where isactive
      )`.as('n'),
    )
    .selectAll()
    .execute();
  return nodes ?? { workers: 0, has_coordinator: false };
}

/** Lists the tables that Citus has placed already. */
export async function readPlacedTables(db: Kysely<Tables>): Promise<string[]> {
  const rows = await db
    .selectFrom(
      sql<{ name: string }>`(
        select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
        where c.relnamespace = 'public'::regnamespace
      )`.as('t'),
    )
    .select('t.name')
    .execute();
  return rows.map(({ name }) => name);
}

/**
 * Plans the statements that place all tables on the nodes of Citus. Drops the foreign keys, places reference tables and
 * then distributed tables, and adds the foreign keys again that Citus supports.
 */
export async function planDistribution(db: Kysely<Tables>, placed: readonly string[] = []): Promise<Step[]> {
  const tables = (Object.keys(tableKinds) as (keyof typeof tableKinds)[])
    .filter(table => !placed.includes(table))
    .sort();
  const named = (placement: string) => tables.filter(table => placementOf(table) === placement);
  const [references, distributed] = [named('reference'), named('distributed')];
  const moved = new Set<string>([...references, ...distributed]);
  if (moved.size === 0) return [];
  const keys = (await readForeignKeys(db)).filter(({ table, target }) => moved.has(table) || moved.has(target));
  const indexes = (await readIndexesWithoutAccount(db)).filter(({ table }) => distributed.some(one => one === table));
  const first = (placed as (keyof typeof tableKinds)[]).find(table => placementOf(table) === 'distributed');
  const anchor = first ?? distributed[0];
  return [
    step('set local statement_timeout = 0'),
    step('set local lock_timeout = 0'),
    step("set local citus.multi_shard_modify_mode = 'sequential'"),
    step('set local citus.enable_unsafe_triggers = on', 'the triggers change only rows of the same account'),
    ...keys.map(({ table, name }) => step(`alter table ${table} drop constraint ${name}`)),
    ...indexes.map(({ table, name, is_constraint }) =>
      step(
        is_constraint ? `alter table ${table} drop constraint ${name}` : `drop index ${name}`,
        'a unique index of a distributed table needs account_id',
      ),
    ),
    ...references.map(table => step(`select create_reference_table('${table}')`)),
    ...distributed.map(table =>
      step(
        `select create_distributed_table('${table}', 'account_id', colocate_with => '${table === anchor ? 'none' : anchor}')`,
      ),
    ),
    ...keys.filter(isSupported).map(({ table, name, definition }) => step(addKey(table, name, definition))),
  ];
}

/** Lists the foreign keys that Citus does not support. The plan drops them and does not add them again. */
export async function listLostKeys(db: Kysely<Tables>): Promise<string[]> {
  const keys = await readForeignKeys(db);
  return keys.filter(key => !isSupported(key)).map(({ name, table, target }) => `${name} (${table} to ${target})`);
}

function step(statement: string, note: string | null = null): Step {
  return { statement, note };
}

function addKey(table: string, name: string, definition: string): string {
  return `alter table ${table} add constraint ${name} ${definition}`;
}

/**
 * Whether Citus supports a foreign key between tables of these placements. It supports no foreign key to a distributed
 * table from another placement, and none to a local table from a distributed table. From a reference table to a local
 * table, it supports no cascade.
 */
function isSupported({ table, target }: ForeignKey): boolean {
  const from = placementOf(table as keyof typeof tableKinds);
  const to = placementOf(target as keyof typeof tableKinds);
  return to === 'reference' || from === to;
}

async function readForeignKeys(db: Kysely<Tables>): Promise<ForeignKey[]> {
  return db
    .selectFrom(
      sql<ForeignKey>`(
        select f.conname as name, f.conrelid::regclass::text as table, f.confrelid::regclass::text as target,
          pg_get_constraintdef(f.oid) as definition
        from pg_constraint f where f.contype = 'f' and f.connamespace = 'public'::regnamespace
      )`.as('k'),
    )
    .selectAll()
    .orderBy('k.table')
    .orderBy('k.name')
    .execute();
}

async function readIndexesWithoutAccount(db: Kysely<Tables>): Promise<UniqueIndex[]> {
  return db
    .selectFrom(
      sql<UniqueIndex>`(
        select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as table,
          exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u')) as is_constraint
        from pg_index i join pg_class t on t.oid = i.indrelid
        where i.indisunique and t.relnamespace = 'public'::regnamespace and not exists (
          select from pg_attribute a
          where a.attrelid = i.indrelid and a.attname = 'account_id' and a.attnum = any (i.indkey)
        )
      )`.as('u'),
    )
    .selectAll()
    .orderBy('u.table')
    .orderBy('u.name')
    .execute();
}
