import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  coreStream,
  hasPendingMigrations,
  listPendingMigrations,
  MigrationError,
  type MigrationStream,
  migrate,
} from '../../server/database/migrator.ts';
import { connect, createBareDatabase, createTestDatabase } from '../helpers/database.ts';

/** A migration that leaves a trace each time it runs. */
const trace = (name: string) => `create table if not exists traces (name text); insert into traces values ('${name}');`;

async function makeStream(files: Record<string, string>, name = 'core'): Promise<MigrationStream> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-migrations-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const stream = { name, directory };
  await addFiles(stream, files);
  return stream;
}

async function addFiles({ directory }: MigrationStream, files: Record<string, string>) {
  for (const [name, sql] of Object.entries(files)) await writeFile(join(directory, name), sql);
}

interface FreshDatabase {
  url: string;
  rows<Row = Record<string, unknown>>(text: string): Promise<Row[]>;
}

let bare: { url: string; drop(): Promise<void> };
let client: pg.Client;

beforeAll(async () => {
  bare = await createBareDatabase();
  client = await connect(bare.url);
  return async () => {
    await client.end();
    await bare.drop();
  };
});

/** The one database of this file, empty again: making one for each test takes longer than the tests. */
async function freshDatabase(): Promise<FreshDatabase> {
  await client.query('drop schema public cascade; create schema public');
  return { url: bare.url, rows: async text => (await client.query(text)).rows };
}

const traces = 'select name from traces';
const applied = 'select stream, name from schema_migrations order by applied_at, stream, name';
const tables = `select table_name from information_schema.tables where table_schema = 'public' order by 1`;
const named = (...names: string[]) => names.map(name => ({ stream: 'core', name }));

describe('migrating', () => {
  test('applies every file once, in the order of the numbers', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({
      '0002_second.sql': trace('second'),
      '0010_tenth.sql': trace('tenth'),
      '0001_first.sql': trace('first'),
      ...Object.fromEntries([3, 4, 5, 6, 7, 8, 9].map(n => [`000${n}_number_${n}.sql`, trace(`number ${n}`)])),
    });
    const done = await migrate(db.url, [stream]);
    expect(done.map(({ name }) => name.slice(0, 4))).toEqual(
      [...Array(10).keys()].map(n => String(n + 1).padStart(4, '0')),
    );
    expect((await db.rows(traces)).map(({ name }) => name)).toEqual([
      'first',
      'second',
      ...[3, 4, 5, 6, 7, 8, 9].map(n => `number ${n}`),
      'tenth',
    ]);
    expect(await db.rows(applied)).toEqual(done);

    await addFiles(stream, { '0011_eleventh.sql': trace('eleventh') });
    expect(await migrate(db.url, [stream])).toEqual(named('0011_eleventh.sql'));
    expect(await migrate(db.url, [stream])).toEqual([]);
    expect(await db.rows(traces)).toHaveLength(11);
  });

  test('by ten processes at once applies every file exactly once, and only one of them', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({
      // Would fail, were it applied twice.
      '0001_first.sql': 'create table once (id int); select pg_sleep(0.05);',
      '0002_second.sql': trace('second'),
      '0003_third.sql': trace('third'),
    });
    const results = await Promise.all([...Array(10)].map(() => migrate(db.url, [stream])));
    expect(results.filter(done => done.length > 0)).toEqual([
      named('0001_first.sql', '0002_second.sql', '0003_third.sql'),
    ]);
    expect(await db.rows(traces)).toEqual([{ name: 'second' }, { name: 'third' }]);
    expect(await db.rows(applied)).toHaveLength(3);
  });

  test('makes the schema of this server on an empty database, also by ten at once', async () => {
    const db = await freshDatabase();
    const results = await Promise.all([...Array(10)].map(() => migrate(db.url)));
    expect(results.flat()).toEqual(await db.rows(applied));
    expect(results.flat()[0]).toEqual({ stream: 'core', name: '0001_baseline.sql' });
    expect(await db.rows(tables)).toContainEqual({ table_name: 'ideas' });
    expect(await listPendingMigrations(db.url)).toEqual([]);
  });

  test('numbers each stream by itself', async () => {
    const db = await freshDatabase();
    const core = await makeStream({ '0001_first.sql': trace('core') });
    const extension = await makeStream({ '0001_first.sql': trace('extension') }, 'an-extension');
    expect(await migrate(db.url, [core, extension])).toEqual([
      { stream: 'core', name: '0001_first.sql' },
      { stream: 'an-extension', name: '0001_first.sql' },
    ]);
    // Without the extension its migrations are nobody's, and no reason to refuse.
    expect(await migrate(db.url, [core])).toEqual([]);
    expect(await db.rows(traces)).toEqual([{ name: 'core' }, { name: 'extension' }]);
  });

  test('runs a file that says so outside a transaction, as create index concurrently needs', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_table.sql': 'create table things (id int);' });
    await migrate(db.url, [stream]);
    const index = 'create index concurrently things_id_idx on things (id);';
    await addFiles(stream, { '0002_index.sql': index });
    await expect(migrate(db.url, [stream])).rejects.toThrow(/core\/0002_index\.sql failed: .*transaction block/);
    await addFiles(stream, { '0002_index.sql': `-- no transaction\n${index}` });
    expect(await migrate(db.url, [stream])).toEqual(named('0002_index.sql'));
    expect(await db.rows(`select indexname from pg_indexes where tablename = 'things'`)).toEqual([
      { indexname: 'things_id_idx' },
    ]);
    expect(await db.rows(applied)).toHaveLength(2);
  });
});

describe('a dry run', () => {
  test('lists what is pending on an empty database and makes nothing, not even the table of migrations', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first'), '0002_second.sql': trace('second') });
    expect(await listPendingMigrations(db.url, [stream])).toEqual(named('0001_first.sql', '0002_second.sql'));
    expect(await db.rows(tables)).toEqual([]);
  });

  test('lists only what is not applied, and applies none of it', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0002_second.sql': trace('second'), '0003_third.sql': 'this is no SQL' });
    expect(await listPendingMigrations(db.url, [stream])).toEqual(named('0002_second.sql', '0003_third.sql'));
    expect(await db.rows(traces)).toEqual([{ name: 'first' }]);
    expect(await db.rows(applied)).toEqual(named('0001_first.sql'));
  });

  test('of the probe says by the names alone whether something is pending', async () => {
    const { database, sql, drop } = await createTestDatabase();
    onTestFinished(drop);
    expect(await hasPendingMigrations(database)).toBe(false);
    const extension = await makeStream({ '0001_first.sql': trace('first') }, 'an-extension');
    expect(await hasPendingMigrations(database, [coreStream, extension])).toBe(true);
    await sql(`delete from schema_migrations where name = '0001_baseline.sql'`);
    expect(await hasPendingMigrations(database)).toBe(true);
  });
});

describe('a failing file', () => {
  test('leaves nothing of itself behind, keeps the ones before it, and can be put right', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({
      '0001_first.sql': trace('first'),
      '0002_broken.sql': `${trace('broken')} create table half_done (id int); select 1 / 0;`,
      '0003_third.sql': trace('third'),
    });
    await expect(migrate(db.url, [stream])).rejects.toThrow(
      new MigrationError('Migration core/0002_broken.sql failed: division by zero'),
    );
    expect(await db.rows(traces)).toEqual([{ name: 'first' }]);
    expect(await db.rows(tables)).not.toContainEqual({ table_name: 'half_done' });
    expect(await db.rows(applied)).toEqual(named('0001_first.sql'));

    await addFiles(stream, { '0002_broken.sql': trace('mended') });
    expect(await migrate(db.url, [stream])).toEqual(named('0002_broken.sql', '0003_third.sql'));
    expect(await db.rows(traces)).toEqual([{ name: 'first' }, { name: 'mended' }, { name: 'third' }]);
  });

  test('outside a transaction is not recorded as applied', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_broken.sql': '-- no transaction\nselect 1 / 0;' });
    await expect(migrate(db.url, [stream])).rejects.toThrow('core/0001_broken.sql failed');
    expect(await db.rows(applied)).toEqual([]);
  });

  test('lets the next process in: the lock goes with the failed one', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_broken.sql': 'select 1 / 0;' });
    const results = await Promise.allSettled([...Array(3)].map(() => migrate(db.url, [stream])));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    for (const result of results) expect((result as PromiseRejectedResult).reason).toBeInstanceOf(MigrationError);
  });
});

describe('what does not fit together is refused, naming the file', () => {
  const both = [
    ['migrate', migrate],
    ['the dry run', listPendingMigrations],
  ] as const;

  test.each(both)('%s refuses an applied file that was changed afterwards', async (_, run) => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0001_first.sql': `${trace('first')} `, '0002_second.sql': trace('second') });
    await expect(run(db.url, [stream])).rejects.toThrow('core/0001_first.sql was changed after it was applied');
    expect(await db.rows(traces)).toEqual([{ name: 'first' }]);
  });

  test.each(both)('%s refuses a database that is newer than the files', async (_, run) => {
    const db = await freshDatabase();
    await migrate(db.url, [await makeStream({ '0001_first.sql': trace('first'), '0002_newer.sql': trace('newer') })]);
    const older = await makeStream({ '0001_first.sql': trace('first') });
    await expect(run(db.url, [older])).rejects.toThrow(/database is newer.*core\/0002_newer\.sql/);
  });

  test.each([
    ['a gap', { '0001_first.sql': '', '0003_third.sql': '' }, /core\/0003_third\.sql .*0002/],
    ['a number that is there twice', { '0001_first.sql': '', '0001_other.sql': '' }, /core\/0001_other\.sql .*0002/],
    ['a first number that is not 0001', { '0000_zero.sql': '' }, /core\/0000_zero\.sql .*0001/],
    ['a name without a number', { 'first.sql': '' }, /core\/first\.sql is not named like/],
    ['a number of three digits', { '001_first.sql': '' }, /core\/001_first\.sql is not named like/],
    ['a number of five digits', { '00001_first.sql': '' }, /core\/00001_first\.sql is not named like/],
    ['a name with a capital', { '0001_First.sql': '' }, /core\/0001_First\.sql is not named like/],
    ['a name without words', { '0001_.sql': '' }, /core\/0001_\.sql is not named like/],
  ] as [string, Record<string, string>, RegExp][])(
    '%s is refused before anything is applied',
    async (_, files, message) => {
      const db = await freshDatabase();
      const stream = await makeStream(files);
      for (const [, run] of both) {
        const refusal = await run(db.url, [stream]).catch(error => error);
        expect(refusal).toBeInstanceOf(MigrationError);
        expect(refusal.message).toMatch(message);
      }
      expect(await db.rows(tables)).toEqual([]);
    },
  );
});
