import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tableKinds } from '../../server/database/table-kinds.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { expectOnlyKnownOffenders } from '../helpers/offenders.ts';

/** Unique indexes across accounts that stay. */
const uniqueAcrossAccounts: Record<string, string> = {
  accounts_slug_key: 'The slug is how the command line and URLs find an account.',
  boards_public_slug_key: 'The page of a public board has the slug alone in its URL.',
  invitations_token_hash_key: 'The token of a link is all that an invited person has.',
};

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const tenantTables = Object.entries(tableKinds)
  .filter(([, { kind }]) => kind === 'tenant')
  .map(([table]) => table);

const accountColumn = (table: string) => (table === 'accounts' ? 'id' : 'account_id');

const isTenant = (table: string) => tenantTables.includes(table);

interface ForeignKey {
  name: string;
  from: string;
  to: string;
  /** Each column with the one that it refers to. */
  columns: [string, string][];
}

describe('the schema', () => {
  test('every table has a kind', async () => {
    const tables = await db.sql<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    );
    expect(tables.map(({ name }) => name).sort()).toEqual(Object.keys(tableKinds).sort());
  });

  test('every tenant table has account_id, never null, and no other table has it', async () => {
    const columns = await db.sql<{ table: string; is_nullable: boolean }>(`
      select c.relname as table, not a.attnotnull as is_nullable
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'account_id'`);
    const tables = columns.map(({ table }) => table);
    expect(columns.filter(({ is_nullable }) => is_nullable)).toEqual([]);
    expect(tables.filter(table => !isTenant(table))).toEqual([]);
    const missing = tenantTables.filter(table => table !== 'accounts' && !tables.includes(table));
    await expectOnlyKnownOffenders('tables', missing);
  });

  test('every primary key and unique index of a tenant table includes the account', async () => {
    const indexes = await db.sql<{ name: string; table: string; columns: (string | null)[] }>(`
      select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as table,
        array(
          -- An expression has no attribute.
          select a.attname::text from unnest(i.indkey::smallint[]) with ordinality as k (attnum, place)
          left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
          where k.place <= i.indnkeyatts
        ) as columns
      from pg_index i join pg_class c on c.oid = i.indrelid
      where i.indisunique and c.relnamespace = 'public'::regnamespace`);
    const crossing = indexes
      .filter(({ table, columns }) => isTenant(table) && !columns.includes(accountColumn(table)))
      .map(({ name }) => name);
    expect(crossing).toEqual(expect.arrayContaining(Object.keys(uniqueAcrossAccounts)));
    await expectOnlyKnownOffenders(
      'unique-indexes',
      crossing.filter(name => !(name in uniqueAcrossAccounts)),
    );
  });

  test('every foreign key between tenant tables has the account on both sides', async () => {
    const keys = (await foreignKeys()).filter(({ from, to }) => isTenant(from) && isTenant(to));
    const crossing = keys.filter(
      ({ from, to, columns }) => !columns.some(([a, b]) => a === accountColumn(from) && b === accountColumn(to)),
    );
    expect(keys.length).toBeGreaterThan(crossing.length);
    await expectOnlyKnownOffenders(
      'foreign-keys',
      crossing.map(({ name }) => name),
    );
  });

  test('no foreign key leads from a global or local table to a tenant table', async () => {
    const keys = (await foreignKeys()).filter(({ from, to }) => !isTenant(from) && isTenant(to));
    await expectOnlyKnownOffenders(
      'foreign-keys-to-tenants',
      keys.map(({ name }) => name),
    );
  });
});

async function foreignKeys(): Promise<ForeignKey[]> {
  return db.sql<ForeignKey>(`
    select f.conname as name, f.conrelid::regclass::text as from, f.confrelid::regclass::text as to,
      array(
        select array[a.attname::text, b.attname::text]
        from unnest(f.conkey, f.confkey) as pair (a, b)
        join pg_attribute a on a.attrelid = f.conrelid and a.attnum = pair.a
        join pg_attribute b on b.attrelid = f.confrelid and b.attnum = pair.b
      ) as columns
    from pg_constraint f
    where f.contype = 'f' and f.connamespace = 'public'::regnamespace`);
}
