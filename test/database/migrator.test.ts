import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { coreStream, MigrationError, type MigrationStream } from '../../server/database/migration-files.ts';
import { hasPendingMigrations, listPendingMigrations, migrate } from '../../server/database/migrator.ts';
import { connect, createBareDatabase, createTestDatabase } from '../helpers/database.ts';

/** Returns the SQL of a migration. Each run of the migration adds a row to the table `traces`. */
const trace = (name: string) => `create table if not exists traces (name text); insert into traces values ('${name}');`;

const migratorUrl = new URL('../../server/database/migrator.ts', import.meta.url).href;

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

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

/** Empties the database that all tests of this file share. A new database for each test would take longer. */
async function freshDatabase(): Promise<FreshDatabase> {
  await client.query('drop schema public cascade; create schema public');
  return { url: bare.url, rows: async text => (await client.query(text)).rows };
}

const traces = 'select name from traces';
const applied = 'select stream, name from schema_migrations order by applied_at, stream, name';
const tables = `select table_name from information_schema.tables where table_schema = 'public' order by 1`;
const named = (...names: string[]) => names.map(name => ({ stream: 'core', name }));

describe('applying migrations', () => {
  test('every migration is applied once, and the migrations run in the order of their numbers', async () => {
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

  test('if ten processes migrate at the same time, one of them applies all migrations', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({
      // If this migration ran twice, its second run would fail.
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

  test('if ten processes migrate an empty database at the same time, every migration is applied exactly once', async () => {
    const db = await freshDatabase();
    const results = await Promise.all([...Array(10)].map(() => migrate(db.url)));
    expect(results.flat()).toEqual(await db.rows(applied));
    expect(results.flat()[0]).toEqual({ stream: 'core', name: '0001_baseline.sql' });
    expect(await db.rows(tables)).toContainEqual({ table_name: 'ideas' });
    expect(await listPendingMigrations(db.url)).toEqual([]);
  });

  test('the migrations of the server and of each extension have independent numbers', async () => {
    const db = await freshDatabase();
    const core = await makeStream({ '0001_first.sql': trace('core') });
    const extension = await makeStream({ '0001_first.sql': trace('extension') }, 'an-extension');
    expect(await migrate(db.url, [core, extension])).toEqual([
      { stream: 'core', name: '0001_first.sql' },
      { stream: 'an-extension', name: '0001_first.sql' },
    ]);
    // The migrator ignores applied migrations of an extension that is no longer loaded.
    expect(await migrate(db.url, [core])).toEqual([]);
    expect(await db.rows(traces)).toEqual([{ name: 'core' }, { name: 'extension' }]);
  });

  test('a migration with the line "-- no transaction" can run the statement "create index concurrently"', async () => {
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

  test('the line "-- next statement" separates the statements of a migration without a transaction', async () => {
    const db = await freshDatabase();
    const again = 'drop index concurrently if exists things_id_idx;';
    const index = 'create index concurrently things_id_idx on things (id);';
    const stream = await makeStream({
      '0001_table.sql': 'create table things (id int);',
      '0002_index.sql': `-- no transaction\n${again}\n${index}`,
    });
    await expect(migrate(db.url, [stream])).rejects.toThrow(
      /transaction block\. Separate its statements with the line/,
    );
    await addFiles(stream, { '0002_index.sql': `-- no transaction\n${again}\n-- next statement\n${index}` });
    expect(await migrate(db.url, [stream])).toEqual(named('0002_index.sql'));
  });

  test('a migration ignores the session settings of an earlier migration, and may run longer than the statement timeout of the database', async () => {
    const db = await freshDatabase();
    // The statement timeout also applies to the migrator's own statements before the first migration. On a slow
    // machine, these statements need some time, so a shorter timeout could fail the test.
    await client.query(
      `do $$ begin execute format('alter database %I set statement_timeout = 1000', current_database()); end $$`,
    );
    onTestFinished(async () => {
      await client.query(`do $$ begin execute format('alter database %I reset all', current_database()); end $$`);
    });
    const stream = await makeStream({
      '0001_first.sql': `${trace('first')} set search_path = nowhere; select pg_sleep(1.2);`,
      '0002_second.sql': trace('second'),
    });
    expect(await migrate(db.url, [stream])).toHaveLength(2);
  });
});

describe('several processes that migrate', () => {
  test('processes that wait for a running migration do not block the statement "create index concurrently" of this migration', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({
      '0001_table.sql': 'create table things (id int);',
      '0002_index.sql': '-- no transaction\ncreate index concurrently things_id_idx on things (id);',
    });
    const results = await Promise.all([...Array(4)].map(() => migrate(db.url, [stream])));
    expect(results.flat()).toEqual(named('0001_table.sql', '0002_index.sql'));
  });

  test('a process that waits for the migration of another process reports the wait and then sees the result of that migration', async () => {
    const db = await freshDatabase();
    const older = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [older]);
    await client.query('select pg_advisory_lock(4216839001)');
    const onWait = vi.fn();
    const waiting = migrate(db.url, [older], { noticeMs: 50, onWait }).catch(error => error.message);
    await vi.waitFor(() => expect(onWait).toHaveBeenCalled(), { timeout: 10_000 });
    const [{ pid } = { pid: 0 }] = await db.rows<{ pid: number }>('select pg_backend_pid() as pid');
    expect(onWait.mock.calls).toEqual([[expect.stringContaining(`session ${pid} of `)]]);
    // Simulates a migration by a newer version of the server, which adds this row.
    await client.query(`insert into schema_migrations values ('core', '0002_newer.sql', 'x')`);
    await client.query('select pg_advisory_unlock(4216839001)');
    expect(await waiting).toMatch(/database is newer.*core\/0002_newer\.sql/);
  });

  test('a process that waits too long for the migration of another process fails and names the session that holds the migration lock', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await client.query('select pg_advisory_lock(4216839001)');
    onTestFinished(() => client.query('select pg_advisory_unlock_all()').then(() => {}));
    await expect(migrate(db.url, [stream], { waitMs: 1 })).rejects.toThrow(
      /^Another process has been migrating the database for more than 0 s: session \d+ of .*, since 2/,
    );
    expect(await db.rows(tables)).toEqual([]);
  });

  test('after a process was killed during a migration, the next process can migrate, and the migration is applied once', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': `${trace('killed')} select pg_sleep(120);` });
    const program = `import { migrate } from ${JSON.stringify(migratorUrl)};
      await migrate(${JSON.stringify(db.url)}, ${JSON.stringify([stream])});`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'ignore' });
    const sleeping = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    await vi.waitFor(async () => expect(await db.rows(sleeping)).toHaveLength(1), { timeout: 20_000 });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    await addFiles(stream, { '0001_first.sql': trace('mended') });
    expect(await migrate(db.url, [stream], { waitMs: 20_000 })).toEqual(named('0001_first.sql'));
    expect(await db.rows(traces)).toEqual([{ name: 'mended' }]);
  });
});

describe('a locked table', () => {
  const quick = { lockTimeoutMs: 20, pauseMs: 1 };
  const add = 'alter table traces add column more int;';

  test('a migration waits only briefly for a locked table and then tries again, so that reads of the table do not queue behind the migration', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0002_more.sql': add });
    await client.query('begin');
    await client.query('lock table traces in access share mode');
    const migrating = migrate(db.url, [stream], { ...quick, tries: 1_000 });
    // The migration's "alter table" waits for a lock, and a read of the table must wait behind it. So the read can only
    // succeed before the migration tries "alter table", or between two tries.
    const reader = await connect(db.url);
    await reader.query(traces);
    await reader.end();
    await client.query('commit');
    expect(await migrating).toEqual(named('0002_more.sql'));
  });

  test('a migration fails after several tries for a locked table and applies nothing', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0002_more.sql': `${trace('again')} ${add}` });
    await client.query('begin');
    await client.query('lock table traces in access share mode');
    onTestFinished(() => client.query('rollback').then(() => {}));
    await expect(migrate(db.url, [stream], { ...quick, tries: 2 })).rejects.toThrow(
      'Migration core/0002_more.sql failed: canceling statement due to lock timeout. Other transactions hold locks',
    );
    expect(await db.rows(traces)).toEqual([{ name: 'first' }]);
  });
});

describe('a dry run', () => {
  test('a dry run of the migrations on an empty database lists all migrations and creates nothing', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first'), '0002_second.sql': trace('second') });
    expect(await listPendingMigrations(db.url, [stream])).toEqual(named('0001_first.sql', '0002_second.sql'));
    expect(await db.rows(tables)).toEqual([]);
  });

  test('a dry run of the migrations lists only pending migrations and applies none', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0002_second.sql': trace('second'), '0003_third.sql': 'this is no SQL' });
    expect(await listPendingMigrations(db.url, [stream])).toEqual(named('0002_second.sql', '0003_third.sql'));
    expect(await db.rows(traces)).toEqual([{ name: 'first' }]);
    expect(await db.rows(applied)).toEqual(named('0001_first.sql'));
  });

  test('hasPendingMigrations() finds pending migrations by their names and ignores migrations that are newer than the server', async () => {
    const { database, sql, drop } = await createTestDatabase();
    onTestFinished(drop);
    expect(await hasPendingMigrations(database)).toBe(false);
    // During a rolling upgrade, a server of the previous version must stay ready after a newer version has applied its
    // migrations.
    await sql(`insert into schema_migrations values ('core', '9999_newer.sql', 'x')`);
    expect(await hasPendingMigrations(database)).toBe(false);
    const extension = await makeStream({ '0001_first.sql': trace('first') }, 'an-extension');
    expect(await hasPendingMigrations(database, [coreStream, extension])).toBe(true);
    await sql(`delete from schema_migrations where name = '0001_baseline.sql'`);
    expect(await hasPendingMigrations(database)).toBe(true);
  });
});

describe('a failing migration', () => {
  test('a failed migration is rolled back, earlier migrations stay applied, and the corrected migration can be applied', async () => {
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

  test('a failed migration without a transaction is not recorded as applied', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_broken.sql': '-- no transaction\nselect 1 / 0;' });
    await expect(migrate(db.url, [stream])).rejects.toThrow('core/0001_broken.sql failed');
    expect(await db.rows(applied)).toEqual([]);
  });

  test('the error of a failed migration without a transaction says that effects remain, and the next run starts the migration again', async () => {
    const db = await freshDatabase();
    const file = (divisor: number) =>
      `-- no transaction\n${trace('left')}\n-- next statement\nselect 1 / ${divisor};\n-- next statement\n${trace('after')}`;
    const stream = await makeStream({ '0001_broken.sql': file(0) });
    await expect(migrate(db.url, [stream])).rejects.toThrow(
      /^Migration core\/0001_broken\.sql failed: division by zero\. It runs without a transaction and failed at statement 2 of 3\. The effects of the earlier statements remain/,
    );
    expect(await db.rows(traces)).toEqual([{ name: 'left' }]);
    await addFiles(stream, { '0001_broken.sql': file(1) });
    await migrate(db.url, [stream]);
    expect(await db.rows(traces)).toEqual([{ name: 'left' }, { name: 'left' }, { name: 'after' }]);
  });

  test('migrate() releases the migration lock after a failed migration, so that waiting calls of migrate() run, too', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_broken.sql': 'select 1 / 0;' });
    const results = await Promise.allSettled([...Array(3)].map(() => migrate(db.url, [stream])));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    for (const result of results) expect((result as PromiseRejectedResult).reason).toBeInstanceOf(MigrationError);
  });
});

describe('inconsistent migrations', () => {
  const both = [
    ['migrate()', migrate],
    ['a dry run of the migrations', listPendingMigrations],
  ] as const;

  test.each(both)('%s fails if a migration file was changed after the migration was applied', async (_, run) => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': trace('first') });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0001_first.sql': `${trace('first')} `, '0002_second.sql': trace('second') });
    await expect(run(db.url, [stream])).rejects.toThrow('core/0001_first.sql was changed after it was applied');
    expect(await db.rows(traces)).toEqual([{ name: 'first' }]);
  });

  test.each(both)('%s fails if the database has newer migrations than this server', async (_, run) => {
    const db = await freshDatabase();
    await migrate(db.url, [await makeStream({ '0001_first.sql': trace('first'), '0002_newer.sql': trace('newer') })]);
    const older = await makeStream({ '0001_first.sql': trace('first') });
    await expect(run(db.url, [older])).rejects.toThrow(/database is newer.*core\/0002_newer\.sql/);
  });

  test.each(both)(
    '%s fails if a migration file differs from its checksum in SHA256SUMS, even on an empty database',
    async (_, run) => {
      const db = await freshDatabase();
      const stream = await makeStream({ '0001_baseline.sql': trace('first'), '0002_new.sql': trace('new') });
      await addFiles(stream, { SHA256SUMS: `${sha256(trace('as it was'))}  0001_baseline.sql\n` });
      await expect(run(db.url, [stream])).rejects.toThrow('core/0001_baseline.sql was changed after it landed');
      expect(await db.rows(tables)).toEqual([]);
      await addFiles(stream, { SHA256SUMS: `${sha256(trace('first'))}  0001_baseline.sql\n` });
      await expect(run(db.url, [stream])).resolves.toHaveLength(2);
    },
  );

  test('a migration does not count as changed if only the line endings of its file differ', async () => {
    const db = await freshDatabase();
    const stream = await makeStream({ '0001_first.sql': `-- no transaction\n${trace('first')}\n` });
    await migrate(db.url, [stream]);
    await addFiles(stream, { '0001_first.sql': `-- no transaction\r\n${trace('first')}\r\n` });
    expect(await listPendingMigrations(db.url, [stream])).toEqual([]);
  });

  test.each(both)(
    '%s accepts a database with newer migrations if each of them is in the list of tolerated migrations',
    async (_, run) => {
      const db = await freshDatabase();
      const files = { '0001_first.sql': trace('first'), '0002_newer.sql': '', '0003_newest.sql': '' };
      await migrate(db.url, [await makeStream(files)]);
      const older = await makeStream({ '0001_first.sql': trace('first') });
      const both = ['core/0002_newer.sql', 'core/0003_newest.sql'];
      expect(await run(db.url, [older], { tolerated: both })).toEqual([]);
      await expect(run(db.url, [older], { tolerated: both.slice(1) })).rejects.toThrow(
        /newer.*migration core\/0002_newer/,
      );
      await expect(run(db.url, [older])).rejects.toThrow(
        /migrations core\/0002_newer\.sql, core\/0003_newest\.sql, which are/,
      );
    },
  );

  test("if an extension's directory of migrations is missing, the error names the extension", async () => {
    const db = await freshDatabase();
    const nowhere = { name: 'an-extension', directory: '/nowhere' };
    await expect(migrate(db.url, [nowhere])).rejects.toThrow(/^The migrations of an-extension cannot be read: ENOENT/);
  });

  test.each([
    ['a gap in their numbers', { '0001_first.sql': '', '0003_third.sql': '' }, /core\/0003_third\.sql .*0002/],
    [
      'a duplicate number',
      { '0001_first.sql': '', '0001_other.sql': '' },
      /core\/0001_first\.sql and core\/0001_other\.sql have the same number/,
    ],
    ['a first number other than 0001', { '0000_zero.sql': '' }, /core\/0000_zero\.sql .*0001/],
    ['a name without a number', { 'first.sql': '' }, /core\/first\.sql is not named like/],
    ['a number of three digits', { '001_first.sql': '' }, /core\/001_first\.sql is not named like/],
    ['a number of five digits', { '00001_first.sql': '' }, /core\/00001_first\.sql is not named like/],
    ['a name with a capital letter', { '0001_First.sql': '' }, /core\/0001_First\.sql is not named like/],
    ['a name without words after the number', { '0001_.sql': '' }, /core\/0001_\.sql is not named like/],
  ] as [string, Record<string, string>, RegExp][])(
    'migrations with %s are refused before any migration is applied',
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
