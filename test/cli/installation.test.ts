import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, type TestContext, test } from 'vitest';
import { coreStream } from '../../server/database/migration-files.ts';
import { createDatabaseForFile, createTestDatabase } from '../helpers/database.ts';
import { createAccount, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { makeScratchDirectory } from '../helpers/scratch-directory.ts';
import { testAppKey } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { addWebhook } from '../helpers/webhooks.ts';
import { cliOn, runCli, runCliProcess } from './run-cli.ts';

const db = await createDatabaseForFile();

interface Diagnosis {
  ok: boolean;
  findings: { level: string; what: string; remedy: string | null }[];
}

/** Runs the command `doctor`. Returns the exit status, and each warning and error as `<level>: <what>`. */
async function diagnose(settings: Record<string, string>): Promise<{ exitCode: number | null; problems: string[] }> {
  const { exitCode, stdout, stderr } = await runCli(settings, 'doctor', '--json');
  expect(stderr).toBe('');
  const { ok, findings }: Diagnosis = JSON.parse(stdout);
  const problems = findings.filter(({ level }) => level !== 'ok');
  expect(ok).toBe(exitCode === 0);
  expect(problems.every(({ remedy }) => remedy)).toBe(true);
  return { exitCode, problems: problems.map(({ level, what }) => `${level}: ${what}`) };
}

/** Creates a database without migrations. */
async function createEmptyDatabase(
  onTestFinished: TestContext['onTestFinished'],
  name: string,
  options = '',
): Promise<string> {
  const maintenance = new pg.Client({ connectionString: inject('postgresUrl') });
  await maintenance.connect();
  await maintenance.query(`create database ${name} ${options}`);
  onTestFinished(async () => {
    await maintenance.query(`drop database ${name} with (force)`);
    await maintenance.end();
  });
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

test.concurrent('the commands `account list` and `doctor` report the pending migrations of a new database, and only the command `migrate` applies the migrations', async ({
  onTestFinished,
}) => {
  const url = await createEmptyDatabase(onTestFinished, 'cli_not_migrated');
  const files = (await readdir(coreStream.directory)).filter(name => name.endsWith('.sql')).sort();
  const pending = files.map(name => ({ stream: 'core', name }));
  const empty = cliOn(url);
  expect(await empty.refusal('account', 'list')).toBe(
    `The database has ${files.length} pending migration(s): run npm run cli -- migrate`,
  );
  expect(await diagnose({ DATABASE_URL: url })).toEqual({
    exitCode: 1,
    problems: [`error: Migrations are pending: ${files.map(name => `core/${name}`).join(', ')}`],
  });
  expect(await empty.json('migrate', '--dry-run')).toEqual({ pending });
  const check = await empty.run('migrate', '--check', '--json');
  expect({ ...check, stdout: JSON.parse(check.stdout) }).toEqual({ exitCode: 1, stdout: { pending }, stderr: '' });

  expect(await empty.json('migrate')).toEqual({ applied: pending });
  expect(await empty.json('migrate')).toEqual({ applied: [] });
  expect(await empty.json('account', 'list')).toEqual([]);
});

test.concurrent('without DATABASE_URL, only the command `migrate` creates an embedded database in DATA_DIR, and later commands start this database', async ({
  onTestFinished,
}) => {
  const directory = await makeScratchDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const dataDir = join(directory, 'data');
  const settings = { DATA_DIR: dataDir };
  const refused = await runCli(settings, 'account', 'list');
  expect(refused).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^There is no database in /),
  });
  expect(await diagnose(settings)).toEqual({ exitCode: 1, problems: [`error: There is no database in ${dataDir}`] });
  expect(await readdir(directory)).toEqual([]);

  // If a command did not stop the PostgreSQL that it had started, the process of the command would not end.
  expect(await runCliProcess(settings, 'migrate')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await runCliProcess(settings, 'account', 'list')).toEqual({ exitCode: 0, stdout: 'None.\n', stderr: '' });
});

test.concurrent('CLI commands refuse a database with a migration that the server does not have, or with a migration whose file was changed later', async ({
  onTestFinished,
}) => {
  const other = await createTestDatabase();
  onTestFinished(() => other.drop());
  const otherCli = cliOn(other.url);
  await other.sql(`insert into schema_migrations (stream, name, checksum) values ('core', '9999_later.sql', 'x')`);
  const newer =
    'The database is newer than this version of the server: it has the migration core/9999_later.sql, which is not among the files';
  expect(await otherCli.refusal('account', 'list')).toBe(newer);
  expect(await diagnose({ DATABASE_URL: other.url })).toEqual({ exitCode: 1, problems: [`error: ${newer}`] });

  await other.sql(`delete from schema_migrations where name = '9999_later.sql'`);
  await other.sql(`update schema_migrations set checksum = 'x'`);
  const changed = 'core/0001_baseline.sql was changed after it was applied; make a new migration';
  expect(await otherCli.refusal('migrate')).toBe(changed);
  expect(await diagnose({ DATABASE_URL: other.url })).toEqual({ exitCode: 1, problems: [`error: ${changed}`] });
});

test.concurrent("if the database is unreachable, the error of a CLI command names the reason and does not show the database's password", async () => {
  const away = 'postgresql://ada:s3cret@127.0.0.1:1/ideas';
  const reason = 'Cannot reach the database ideas at 127.0.0.1:1: nothing accepts connections there';
  expect(await cliOn(away).refusal('account', 'list')).toBe(reason);
  expect(await diagnose({ DATABASE_URL: away })).toEqual({ exitCode: 1, problems: [`error: ${reason}`] });
  const missing = new URL(db.url);
  missing.pathname = '/no_such_database';
  expect(await cliOn(missing.href).refusal('migrate')).toMatch(
    /^Cannot reach the database no_such_database at .*: the database does not exist/,
  );
});

test.concurrent('a CLI command fails after the connect timeout if the host of the database never answers', async ({
  onTestFinished,
}) => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const url = `postgresql://127.0.0.1:${(silent.address() as AddressInfo).port}/ideas`;
  const reason = /^Cannot reach the database ideas at 127.0.0.1:\d+: the host does not answer$/;
  expect(await cliOn(url, { DATABASE_CONNECT_TIMEOUT_MS: '100' }).refusal('account', 'list')).toMatch(reason);
  const { problems } = await diagnose({ DATABASE_URL: url, DATABASE_CONNECT_TIMEOUT_MS: '100' });
  expect(problems).toEqual([expect.stringMatching('the host does not answer$')]);
});

test.concurrent('the command `doctor` reports all invalid settings and still checks the database', async ({
  onTestFinished,
}) => {
  const empty = await createTestDatabase();
  onTestFinished(() => empty.drop());
  const { exitCode, problems } = await diagnose({ DATABASE_URL: empty.url, PORT: 'high', LOG_LEVEL: 'loud' });
  expect(exitCode).toBe(1);
  expect(problems.slice(0, 2).map(problem => problem.split(':').slice(0, 2).join(':'))).toEqual([
    'error: The setting PORT is invalid',
    'error: The setting LOG_LEVEL is invalid',
  ]);
  expect(problems[2]).toBe('warning: There is no account');
  const unknown = await diagnose({ DATABASE_URL: 'mysql://localhost/ideas' });
  expect(unknown).toEqual({
    exitCode: 1,
    problems: [expect.stringMatching('^error: The setting DATABASE_URL is invalid')],
  });
});

test.concurrent('the command `doctor` reports an error if the encoding of the database is not UTF-8', async ({
  onTestFinished,
}) => {
  const options = `encoding 'SQL_ASCII' locale_provider libc locale 'C' template template0`;
  const url = await createEmptyDatabase(onTestFinished, 'cli_sql_ascii', options);
  const { problems } = await diagnose({ DATABASE_URL: url });
  expect(problems[0]).toBe('error: The database is encoded in SQL_ASCII, which cannot hold every character');
});

test.concurrent('the command `doctor` reports accounts, boards, tokens, vote tallies and workers with problems, and changes nothing', async () => {
  const world = await createWorld(db);
  await db.sql(`insert into heartbeats (name, recorded_at) values ('cron', now())
    on conflict (name) do update set recorded_at = now()`);
  await issueToken(db, world, 'read');
  const ideaId = await insertIdea(db, world);
  expect(await diagnose({ DATABASE_URL: db.url })).toEqual({ exitCode: 0, problems: [] });

  await db.sql('update ideas set up_count = 1 where id = $1', [ideaId]);
  const tally = `error: The tallies of 1 of the newest 1 ideas differ from their votes: ${ideaId}`;
  const { accountId } = await createAccount(db);
  const [account] = await db.sql<{ slug: string }>('select slug from accounts where id = $1', [accountId]);
  const [own] = await db.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
  await db.sql(`update statuses set category = 'planned' where board_id = $1`, [world.boardId]);
  const expiresAt = new Date(Date.now() + 86_400_000);
  const expiring = await issueToken(db, world, 'read', { expiresAt, name: 'Soon' });
  const boardless = await issueToken(db, world, {}, { name: 'Nowhere' });
  await issueToken(db, world, {}, { name: 'Over', expiresAt: new Date(0) });
  await db.sql(`update heartbeats set recorded_at = '2026-01-01T00:00:00Z'`);

  const before = await snapshot(db);
  expect(await diagnose({ DATABASE_URL: db.url })).toEqual({
    exitCode: 1,
    problems: [
      `warning: The account ${account?.slug} has no owner`,
      `error: The board ${own?.slug}/${world.boardSlug} has no status of the category inbox, so nobody can create ideas on it`,
      `warning: The token ${expiring.id} (Soon) of ${own?.slug} expires at ${expiresAt.toISOString()}`,
      `warning: The token ${boardless.id} (Nowhere) of ${own?.slug} grants no board, so every request with it is refused`,
      tally,
      'warning: The worker was last alive at 2026-01-01T00:00:00.000Z',
    ],
  });
  expect(await snapshot(db)).toEqual(before);
});

test.concurrent('if a vote tally is wrong, the command `doctor` prints SQL that corrects the tally', async ({
  onTestFinished,
}) => {
  const drifted = await createTestDatabase();
  onTestFinished(() => drifted.drop());
  const world = await createWorld(drifted);
  await drifted.sql(`insert into heartbeats (name, recorded_at) values ('cron', now())`);
  for (const title of ['One', 'Another']) await insertIdea(drifted, world, { title });
  await drifted.sql('update ideas set up_count = 1');
  const { stdout } = await runCli({ DATABASE_URL: drifted.url }, 'doctor', '--json');
  await drifted.sql(/in SQL: (select [^;]*);/.exec(stdout)?.[1] ?? '');
  expect(await diagnose({ DATABASE_URL: drifted.url })).toEqual({ exitCode: 0, problems: [] });
});

test.concurrent("the command `doctor` reports an error if APP_KEY cannot decrypt a webhook's secret, and a warning if APP_KEY is missing", async ({
  onTestFinished,
}) => {
  const sealed = await createTestDatabase();
  onTestFinished(() => sealed.drop());
  const world = await createWorld(sealed);
  await sealed.sql(`insert into heartbeats (name, recorded_at) values ('cron', now())`);
  await addWebhook(sealed, world, { url: 'https://hooks.example.com/ideas' });
  const withKey = (APP_KEY: Buffer) => diagnose({ DATABASE_URL: sealed.url, APP_KEY: APP_KEY.toString('base64') });
  expect(await withKey(testAppKey)).toEqual({ exitCode: 0, problems: [] });
  expect(await withKey(Buffer.alloc(32, 8))).toEqual({
    exitCode: 1,
    problems: [expect.stringMatching(/^error: APP_KEY does not decrypt the secrets/)],
  });
  const directory = await makeScratchDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  expect(await diagnose({ DATABASE_URL: sealed.url, DATA_DIR: directory })).toEqual({
    exitCode: 0,
    problems: [expect.stringMatching(/^warning: The secrets of webhooks and chats cannot be checked/)],
  });
});

test.concurrent('the command `doctor` reports weak secrets in production as errors', async () => {
  const { exitCode, problems } = await diagnose({
    NODE_ENV: 'production',
    DATABASE_URL: 'postgresql://ada:postgres@127.0.0.1:1/ideas',
    APP_KEY: Buffer.alloc(32, 8).toString('base64'),
  });
  expect(exitCode).toBe(1);
  expect(problems.slice(0, 2)).toEqual([
    expect.stringMatching(/^error: In production, APP_KEY is not random/),
    'error: In production, DATABASE_URL has a well-known password',
  ]);
});
