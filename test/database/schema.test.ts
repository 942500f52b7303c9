import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { entities } from '../../server/entities/entities.ts';
import { createDatabaseForFile } from '../helpers/database.ts';

interface Column {
  table_name: string;
  column_name: string;
  type: string;
  is_nullable: boolean;
  /** The default value of the column, or the expression if the column is generated. */
  expression: string | null;
  is_generated: boolean;
  has_identity: boolean;
}

const db = await createDatabaseForFile();

/**
 * The name of a PostgreSQL schema. The tests create the tables of the entities in this schema, and the migrations use
 * the schema public.
 */
const described = 'described';

describe('migrated schema and entities', () => {
  let metadata: EntityMetadata[];

  beforeAll(async () => {
    const all = [...db.database.orm.getMetadata().getAll().values()] as EntityMetadata[];
    metadata = all.filter(meta => meta.tableName !== undefined);
    await db.sql(`create schema ${described}`);
    // PostgreSQL itself parses the column types of the entities, because a type can have two names, such as int and
    // integer.
    for (const meta of metadata) await db.sql(tableOf(meta));
  });

  test('the migrations and the MikroORM entities describe the same tables', async () => {
    const migrated = await tables('public');
    expect(migrated).toContain('schema_migrations');
    // The table schema_migrations belongs to the migrator, so it has no entity.
    expect(migrated.filter(name => name !== 'schema_migrations')).toEqual(await tables(described));
    expect(metadata).toHaveLength(entities.length);
  });

  test('the migrations and the MikroORM entities describe the same columns, with the same types, nullability, defaults, identities and generated expressions', async () => {
    const migrated = await columns('public');
    expect(migrated.filter(column => column.table_name !== 'schema_migrations')).toEqual(await columns(described));
  });

  test('the migrations and the MikroORM entities describe the same primary keys, with the same order of columns', async () => {
    const migrated = await primaryKeys('public');
    expect(migrated.filter(key => key.table_name !== 'schema_migrations')).toEqual(await primaryKeys(described));
  });
});

describe('the migrated schema', () => {
  test('every foreign key has an index on its columns, so that deletions and joins are fast', async () => {
    const missing = await db.sql<{ name: string }>(`
      select c.conname as name
      from pg_constraint c
      where c.contype = 'f' and c.connamespace = 'public'::regnamespace and not exists (
        select from pg_index i
        where i.indrelid = c.conrelid
          and (select array_agg(k) from unnest(i.indkey::smallint[]) with ordinality as u (k, n)
               where n <= cardinality(c.conkey)) <@ c.conkey
          and i.indnkeyatts >= cardinality(c.conkey)
          -- A partial index also serves the foreign key if it omits only rows with null.
          and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) in (
            select format('(%I IS NOT NULL)', a.attname) from pg_attribute a
            where a.attrelid = c.conrelid and a.attnum = any (c.conkey)
          ))
      )`);
    expect(missing).toEqual([]);
  });

  /**
   * Tables whose column account_id has no foreign key to accounts, each with its owner table. When a row of the owner
   * table is deleted, PostgreSQL also deletes the rows that refer to it.
   */
  const ownerOfTable = {
    api_token_boards: 'api_tokens',
    comments: 'ideas',
    event_positions: 'events',
    event_waits: 'api_tokens',
    followers: 'ideas',
    idea_tags: 'ideas',
    idea_terms: 'ideas',
    idempotency_keys: 'api_tokens',
    merges: 'ideas',
    token_usage: 'api_tokens',
    vote_followings: 'boards',
    vote_networks: 'votes',
    votes: 'ideas',
    webhook_attempts: 'webhook_deliveries',
    webhook_deliveries: 'webhook_endpoints',
  };

  test("if an account is deleted, foreign keys delete the account's rows in all tables except the tables of OAuth, sessions and sign-ins", async () => {
    const rows = await db.sql<{ table_name: string; foreign_table: string; action: string }>(`
      select c.conrelid::regclass::text as table_name, c.confrelid::regclass::text as foreign_table, c.confdeltype as action
      from pg_constraint c where c.contype = 'f' and c.connamespace = 'public'::regnamespace`);
    const cascading = (foreign: string) =>
      rows.filter(row => row.foreign_table === foreign && row.action === 'c').map(row => row.table_name);
    // No foreign key deletes the rows of these tables. The server itself deletes them.
    const withoutForeignKey = ['oauth_records', 'sessions', 'sign_in_challenges', 'sign_in_links'];
    const carrying = (await columns('public')).filter(
      column => column.column_name === 'account_id' && !withoutForeignKey.includes(column.table_name),
    );
    const withKey = carrying.map(column => column.table_name).filter(table => cascading('accounts').includes(table));
    const withoutKey = carrying.map(column => column.table_name).filter(table => !withKey.includes(table));
    expect(withoutKey).toEqual(Object.keys(ownerOfTable));
    for (const [table, owner] of Object.entries(ownerOfTable)) expect(cascading(owner)).toContain(table);
  });

  test('all times in the database have a precision of milliseconds, and the table rate_limits is unlogged', async () => {
    const times = (await columns('public')).filter(column => column.type.startsWith('timestamp'));
    expect(new Set(times.map(({ type }) => type))).toEqual(new Set(['timestamp(3) with time zone']));
    const [counters] = await db.sql(`select relpersistence from pg_class where oid = 'rate_limits'::regclass`);
    expect(counters).toEqual({ relpersistence: 'u' });
  });
});

function tableOf(meta: EntityMetadata): string {
  const names = meta.primaryKeys.map(name => columnName((meta.properties as Record<string, EntityProperty>)[name]));
  // The primary key starts with account_id, even if the entity declares account_id later (see accountKey).
  const key = names.toSorted((a, b) => Number(b === 'account_id') - Number(a === 'account_id'));
  const lines = [...meta.props.map(columnOf), `primary key (${key.join(', ')})`];
  return `create table ${described}.${meta.tableName} (${lines.join(', ')})`;
}

function columnName(property: EntityProperty | undefined): string {
  const [name] = property?.fieldNames ?? [];
  if (name === undefined) throw new Error(`${property?.name} has no column`);
  return name;
}

function columnOf(property: EntityProperty): string {
  const { columnTypes, nullable, autoincrement, generated, defaultRaw } = property;
  const type = autoincrement ? 'bigint generated always as identity' : columnTypes[0];
  // Ignores the default value of a generated column. This value only tells MikroORM that a new row needs no value for
  // the column.
  const value = generated
    ? `generated always as ${generated}`
    : defaultRaw === undefined
      ? ''
      : `default ${defaultRaw}`;
  return `${columnName(property)} ${type} ${value} ${nullable ? 'null' : 'not null'}`;
}

async function tables(schema: string): Promise<string[]> {
  const rows = await db.sql<{ name: string }>(
    `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') order by 1`,
    [schema],
  );
  return rows.map(({ name }) => name);
}

function columns(schema: string): Promise<Column[]> {
  return db.sql<Column>(
    `select c.relname as table_name, a.attname as column_name, format_type(a.atttypid, a.atttypmod) as type,
      not a.attnotnull as is_nullable, pg_get_expr(d.adbin, d.adrelid) as expression,
      a.attgenerated <> '' as is_generated, a.attidentity <> '' as has_identity
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')
    order by 1, 2`,
    [schema],
  );
}

function primaryKeys(schema: string): Promise<{ table_name: string; columns: string[] }[]> {
  return db.sql(
    `select c.relname as table_name, array_agg(a.attname::text order by k.n) as columns
    from pg_constraint p
    join pg_class c on c.oid = p.conrelid
    cross join unnest(p.conkey) with ordinality as k (attnum, n)
    join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
    where p.contype = 'p' and p.connamespace = $1::regnamespace
    group by 1 order by 1`,
    [schema],
  );
}
