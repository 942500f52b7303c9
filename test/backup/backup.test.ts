import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';

import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../server/database/migrator.ts';
import { cliOn, main } from '../cli/run-cli.ts';
import { connect, openTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea } from '../helpers/fixtures.ts';
import { findPostgresPrograms, startInstalledPostgres } from '../helpers/installed-postgres.ts';
import { testAppKey } from '../helpers/server.ts';
import { addWebhook } from '../helpers/webhooks.ts';

const programs = findPostgresPrograms();
const api = new URL('../../server/extensions/extension.ts', import.meta.url).href;

describe.runIf(programs)('the commands backup, restore and upgrade', () => {
  let postgres: Awaited<ReturnType<typeof startInstalledPostgres>>;
  let source: TestDatabase;
  let directory: string;
  let backup: string;
  const settings = (url: string) => ({
    DATABASE_URL: url,
    APP_KEY: testAppKey.toString('base64'),
    PATH: `${programs}:${process.env.PATH}`,
  });
  const on = (url: string, changes: Record<string, string> = {}) => cliOn(url, { ...settings(url), ...changes });

  beforeAll(async () => {
    postgres = await startInstalledPostgres(programs ?? '');
    directory = await mkdtemp(join(tmpdir(), 'idea-board-backup-'));
    const url = await createDatabase('ideas');
    await migrate(url);
    source = await openTestDatabase({ url, drop: async () => {} });
    const world = await createWorld(source);
    await addWebhook(source, world, { url: 'https://hooks.example.com' });
    const ideaId = await insertIdea(source, world);
    await source.sql(`insert into voters (account_id) values ($1)`, [world.accountId]);
    await source.sql(`insert into votes (account_id, idea_id, voter_id, value) select $1, $2, id, 1 from voters`, [
      world.accountId,
      ideaId,
    ]);
    await source.sql(`update ideas set up_count = 1`);
    await source.sql(
      `insert into rate_limits (key, window_started_at, expires_at, count) values ('x', now(), now(), 1)`,
    );
    backup = join(directory, 'first');
    expect(await on(source.url).run('backup', backup)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  afterAll(async () => {
    await source?.database.close();
    await postgres?.close();
    if (directory) await rm(directory, { recursive: true });
  });

  async function createDatabase(name: string) {
    const client = await connect(postgres.urlOf('postgres'));
    await client.query(`create database ${name}`);
    await client.end();
    return postgres.urlOf(name);
  }

  async function select(url: string, text: string) {
    const client = await connect(url);
    const { rows } = await client.query(text);
    await client.end();
    return rows;
  }

  /** Starts a command, waits until one of its sessions waits for a lock, and kills the command with SIGKILL. */
  async function killAtLock(url: string, ...words: string[]) {
    const child = spawn(process.execPath, [main, ...words], { env: settings(url), stdio: 'ignore' });
    const client = await connect(postgres.urlOf('postgres'));
    await expect
      .poll(() =>
        client.query(`select from pg_stat_activity where wait_event_type = 'Lock'`).then(({ rowCount }) => rowCount),
      )
      .toBeGreaterThan(0);
    await client.end();
    child.kill('SIGKILL');
    await once(child, 'close');
  }

  test('a restored database has the same rows and tallies as the original, APP_KEY decrypts its secrets, and only its owner can open the backup directory', async () => {
    expect((await stat(backup)).mode & 0o777).toBe(0o700);
    const manifest = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ secrets: { total: 1, decrypted: 1 }, tables: { 'public.votes': 1 } });
    expect(JSON.stringify(manifest)).not.toContain(testAppKey.toString('base64'));

    const url = await createDatabase('restored');
    const restored = await on(url).json<Record<string, unknown>>('restore', backup, '--verify');
    expect(restored).toMatchObject({
      ok: true,
      is_continued: false,
      pending: [],
      verification: {
        tables: { compared: Object.keys(manifest.tables).length, differences: [] },
        tallies: { checked: 1, drifted: 0 },
        secrets: { total: 1, decrypted: 1 },
        has_new_incarnation: true,
      },
    });
    const rows = 'select v.value, i.title, i.up_count from votes v join ideas i on i.id = v.idea_id';
    expect(await select(url, rows)).toEqual(await select(source.url, rows));
    // The dump has no rows of unlogged tables.
    expect(await select(url, 'select from rate_limits')).toEqual([]);
    expect(await select(url, `select from pg_namespace where nspname = 'idea_board_restore'`)).toEqual([]);
    expect(await on(url).refusal('restore', backup)).toContain('The database is not empty');
  });

  test('the rows and the counts in a backup are from the same moment, even if a server writes rows during the backup', async () => {
    const { lock, release } = await holdSequence();
    const target = join(directory, 'during-writes');
    const running = on(source.url).json<{ manifest: { tables: Record<string, number> } }>('backup', target);
    await expect
      .poll(() => lock.query(`select from pg_locks where not granted`).then(({ rowCount }) => rowCount))
      .toBe(1);
    // The command `backup` has already counted the rows, and its program pg_dump waits for a lock. So the backup must
    // not contain this user.
    await source.sql(`insert into users (name, email) values ('Late', 'late@example.com')`);
    await release();
    const { manifest } = await running;
    const url = await createDatabase('during_writes');
    expect(await on(url).json('restore', target, '--verify')).toMatchObject({ ok: true });
    expect(await select(url, 'select count(*)::int as count from users')).toEqual([
      { count: manifest.tables['public.users'] },
    ]);
    await source.sql(`delete from users where name = 'Late'`);
  });

  test('a killed backup does not create the requested directory, and the next backup removes the incomplete directory of the killed one', async () => {
    const { release } = await holdSequence();
    const target = join(directory, 'killed');
    await killAtLock(source.url, 'backup', target);
    await release();
    const rest = (await readdir(directory)).filter(name => name.startsWith('killed'));
    expect(rest).toEqual([expect.stringMatching(/^killed\.idea-board-new-/)]);
    expect(await on(postgres.urlOf('postgres')).refusal('restore', join(directory, rest[0] ?? ''))).toContain(
      'is not a backup',
    );
    expect(await on(source.url).run('backup', target)).toMatchObject({ exitCode: 0 });
    expect((await readdir(directory)).filter(name => name.startsWith('killed'))).toEqual(['killed']);
    expect(await on(source.url).refusal('backup', target)).toContain('already exists');
  });

  test('after a killed restore, the same command restores the whole backup', async () => {
    const url = await createDatabase('killed');
    const blocker = await connect(url);
    await blocker.query('begin; create extension pg_trgm');
    await killAtLock(url, 'restore', backup, '--verify');
    await blocker.query('rollback');
    await blocker.end();
    expect(await on(url).json('restore', backup, '--verify')).toMatchObject({ ok: true, is_continued: false });
    expect(await select(url, 'select up_count from ideas')).toEqual([{ up_count: 1 }]);
  });

  test("the command `restore --verify` exits with 1 if a row count differs from the backup's manifest, and a repeated restore only verifies the restored rows", async () => {
    const wrong = join(directory, 'wrong');
    expect(await on(source.url).run('backup', wrong)).toMatchObject({ exitCode: 0 });
    const file = join(wrong, 'manifest.json');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('"public.votes": 1', '"public.votes": 2'));
    const url = await createDatabase('wrong');
    const { exitCode, stdout } = await on(url).run('restore', wrong, '--verify', '--json');
    expect({ exitCode, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      ok: false,
      verification: { tables: { differences: [{ table: 'public.votes', backup: 2, database: 1 }] } },
    });
    await select(url, 'update ideas set up_count = 7');
    await writeFile(file, text);
    const again = await on(url).run('restore', wrong, '--verify', '--json');
    expect({ exitCode: again.exitCode, ...JSON.parse(again.stdout) }).toMatchObject({
      exitCode: 1,
      is_continued: true,
      verification: { tables: { differences: [] }, tallies: { drifted: 1 } },
    });
    await select(url, 'update ideas set up_count = 1');
    expect(await on(url).json('restore', wrong, '--verify')).toMatchObject({ ok: true, is_continued: true });
  });

  test('the errors of backup and restore say if the backup is damaged, APP_KEY is wrong or a program is missing, and the database stays unchanged', async () => {
    const url = await createDatabase('untouched');
    const otherKey = { APP_KEY: Buffer.alloc(32, 'x').toString('base64') };
    expect(await on(url, otherKey).refusal('restore', backup, '--verify')).toMatch(
      /^APP_KEY is not the key of the backup: its fingerprint is \w{16}, and .* fingerprint \w{16}$/,
    );
    expect(await on(source.url, otherKey).refusal('backup', join(directory, 'unmade'))).toContain(
      'APP_KEY decrypts none of the 1 secrets',
    );
    expect(await on(url, { PATH: directory }).refusal('restore', backup)).toContain('pg_restore is not installed');

    const dump = join(backup, 'database.dump');
    const bytes = await readFile(dump);
    await writeFile(dump, bytes.subarray(0, -1));
    expect(await on(url).refusal('restore', backup)).toContain('The backup is damaged');
    await writeFile(dump, bytes);
    expect(await select(url, `select from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([]);
    expect(await readdir(directory)).not.toContain('unmade');
  });

  test('the rehearsal of an upgrade reports the locks of each migration, drops its copy of the database, and does not change the running database', async () => {
    const extension = await writeExtension({
      '0001_add_a_column.sql': 'alter table ideas add column rehearsed text; create table rehearsed (id bigint);',
      '0002_index_votes.sql': '-- no transaction\ncreate index votes_value_idx on votes (value); select pg_sleep(0.5);',
    });
    const before = await describeServer();
    for (const copied of [[], ['--backup', backup]]) {
      const { exitCode, stdout, stderr } = await on(source.url, { EXTENSIONS: extension }).run(
        ...['upgrade', '--rehearse', '--json', ...copied],
      );
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        ok: true,
        tables: { differences: [] },
        tallies: { checked: 1, drifted: 0 },
        secrets: { total: 1, decrypted: 1 },
        migrations: [
          { stream: 'graphile_worker', locks: [] },
          {
            name: '0001_add_a_column.sql',
            locks: [{ table: 'public.ideas', mode: 'AccessExclusiveLock', blocks: 'reads and writes' }],
          },
          { name: '0002_index_votes.sql', locks: [{ table: 'public.votes', mode: 'ShareLock', blocks: 'writes' }] },
        ],
      });
    }
    expect(await describeServer()).toEqual(before);
  });

  test('if a migration fails in the rehearsal of an upgrade, the error names the migration, and the rehearsal drops its copy of the database', async () => {
    const extension = await writeExtension({ '0001_fail.sql': 'alter table ideas add column title text;' });
    const before = await describeServer();
    expect(await on(source.url, { EXTENSIONS: extension }).refusal('upgrade', '--rehearse')).toContain('0001_fail.sql');
    expect(await describeServer()).toEqual(before);
  });

  test('a killed rehearsal of an upgrade does not change the running database, and the next rehearsal drops the database copy of the killed one', async () => {
    const before = await describeServer();
    const { release } = await holdSequence();
    await killAtLock(source.url, 'upgrade', '--rehearse');
    await release();
    const copies = () =>
      select(postgres.urlOf('postgres'), `select from pg_database where datname like 'idea_board_rehearsal_%'`);
    expect(await copies()).toHaveLength(1);
    expect(await on(source.url).json('upgrade', '--rehearse')).toMatchObject({ ok: true });
    expect(await copies()).toEqual([]);
    expect(await describeServer()).toEqual(before);
  });

  test('if the database role may not create databases, the error of an upgrade rehearsal names the command that grants this right', async () => {
    await source.sql(`create role modest login password 'modest'`);
    await source.sql('grant all on all tables in schema public, graphile_worker to modest');
    await source.sql('grant usage on schema graphile_worker to modest');
    const url = new URL(source.url);
    Object.assign(url, { username: 'modest', password: 'modest' });
    expect(await on(url.href).refusal('upgrade', '--rehearse')).toContain('createdb');
  });

  /** The databases of the server, and the rows and columns of the running database. */
  async function describeServer() {
    return {
      databases: await select(postgres.urlOf('postgres'), 'select datname from pg_database order by datname'),
      columns: await source.sql(
        `select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2`,
      ),
      migrations: await source.sql('select stream, name from schema_migrations order by stream, name'),
    };
  }

  async function writeExtension(migrations: Record<string, string>): Promise<string> {
    const folder = await mkdtemp(join(directory, 'extension-'));
    await mkdir(join(folder, 'migrations'));
    for (const [name, sql] of Object.entries(migrations)) await writeFile(join(folder, 'migrations', name), sql);
    const file = join(folder, 'extension.mjs');
    const definition = `defineExtension({ name: 'rehearsed', migrations: new URL('migrations/', import.meta.url) })`;
    await writeFile(file, `import { defineExtension } from '${api}';\nexport default ${definition};`);
    return file;
  }

  /** Holds a lock, so that pg_dump waits after the command has counted the rows. */
  async function holdSequence(): Promise<{ lock: pg.Client; release(): Promise<void> }> {
    await source.sql('create sequence if not exists slow');
    const lock = await connect(source.url);
    await lock.query('begin; drop sequence slow');
    return {
      lock,
      async release() {
        await lock.query('rollback');
        await lock.end();
      },
    };
  }
});
