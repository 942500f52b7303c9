import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, type DatabaseError } from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import {
  connectOrStart,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../server/database/embedded/embedded-postgres.ts';
import { locatePostgresBinaries } from '../../../server/database/embedded/postgres-binaries.ts';
import { type Cluster, findCluster } from '../../../server/database/embedded/postgres-cluster.ts';
import { postgresEnvironment, unprivileged } from '../../../server/database/embedded/postgres-program.ts';
import {
  awaitPostmaster,
  launchPostmaster,
  type Postmaster,
  stopPostmaster,
} from '../../../server/database/embedded/postmaster.ts';
import { migrate } from '../../../server/database/migrator.ts';
import { makeScratchDirectory } from '../../helpers/scratch-directory.ts';

const isRoot = process.getuid?.() === 0;
const repository = fileURLToPath(new URL('../../', import.meta.url));
const moduleUrl = new URL('../../../server/database/embedded/embedded-postgres.ts', import.meta.url).href;

const roles = ['idea_board', 'idea_board_superuser', 'postgres'];

/** A current data directory, and one of an old server. The tests copy them, because creating one takes longer. */
const originals = await Promise.all([makeScratchDirectory(), makeScratchDirectory()]);
const [secured, trusting] = originals as [string, string];
await Promise.all([createDataDir(secured), createTrustingDataDir(trusting)]);
afterAll(() => Promise.all(originals.map(directory => rm(directory, { recursive: true }))));

test('a client of the embedded PostgreSQL needs the password of the application role', async () => {
  const { postgres, dataDir } = await startIn(await copyOf(secured));
  for (const user of roles) expect(await refusalOf(postgres, { user, password: 'guessed' })).toBe('28P01');
  for (const user of roles) expect(await refusalOf(postgres, { user })).toMatch(/^SASL: /);
  const password = (await readFile(join(dataDir, 'postgres.password'), 'utf8')).trim();
  expect(Buffer.from(password, 'base64')).toHaveLength(32);
  expect(postgres.connection.password).toBe(password);
  const file = await stat(join(dataDir, 'postgres.password'));
  expect(file).toMatchObject({ mode: 0o100600, uid: process.getuid?.() });
  expect(await query(postgres, 'select current_user as user')).toEqual([{ user: 'idea_board' }]);
});

if (isRoot && spawnSync(process.execPath, ['--version'], asNobody()).status === 0)
  test('a process of the system user "nobody" cannot connect to the embedded PostgreSQL without the password, and cannot read the password file', async () => {
    const { postgres, dataDir } = await startIn(await copyOf(secured));
    // PostgreSQL's authentication code 10 demands a password by SASL. With the code 0, PostgreSQL would accept the
    // client without a password.
    for (const user of roles) expect(await askAsNobody(postgres, user)).toBe('R 10');
    const reading = spawnSync('cat', [join(dataDir, 'postgres.password')], asNobody());
    expect(reading.status).not.toBe(0);
    expect(reading.stdout.toString()).toBe('');
  });

test('the application role of the embedded PostgreSQL is not a superuser and cannot become one', async () => {
  const { postgres } = await startIn(await copyOf(secured));
  expect(await query(postgres, readAttributes)).toEqual([harmless]);
  await expect(query(postgres, 'alter role idea_board superuser')).rejects.toMatchObject({ code: '42501' });
  await expect(query(postgres, 'set role idea_board_superuser')).rejects.toMatchObject({ code: '42501' });
  await expect(query(postgres, `copy (select 1) to program 'true'`)).rejects.toMatchObject({ code: '42501' });
  await migrate(postgres.url());
  expect(await query(postgres, findForeign)).toEqual([]);
});

test('if the embedded PostgreSQL of an old data directory accepts every client without a password, the next start keeps the data and requires a password', async () => {
  const dataDir = await copyOf(trusting);
  const { postgres } = await startIn(dataDir);
  expect(await query(postgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  for (const user of roles) expect(await refusalOf(postgres, { user })).toMatch(/^SASL: /);
  expect(await query(postgres, readAttributes)).toEqual([harmless]);
  expect(await query(postgres, findForeign)).toEqual([]);
  // Migrations and the job queue must be able to change database objects that the former superuser created.
  expect(await migrate(postgres.url())).toEqual([]);
  await query(postgres, `alter table ideas add column extra text; alter type mood add value 'calm'; drop view seen`);
  await query(postgres, `select graphile_worker.add_job('nothing')`);
  expect(await query(postgres, `select count(*)::int as jobs from graphile_worker.jobs`)).toEqual([{ jobs: 1 }]);

  await postgres.stop();
  const before = await stat(join(dataDir, 'postgres/pg_hba.conf'));
  const again = await startIn(dataDir);
  expect(await query(again.postgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  expect((await stat(join(dataDir, 'postgres/pg_hba.conf'))).mtimeMs).toBe(before.mtimeMs);
});

test('if a server is killed while it adds password protection to an old data directory, the next start completes the protection', async () => {
  const dataDir = await copyOf(trusting);
  const pidFile = join(dataDir, 'postgres/postmaster.pid');
  const settings = join(dataDir, 'postgres/postgresql.conf');
  const original = await readFile(settings);
  // PostgreSQL waits for a second at the start of each session. So each step takes long enough for the test to observe
  // it.
  await appendFile(settings, 'post_auth_delay = 1\n');
  const script = `import { startEmbeddedPostgres } from ${JSON.stringify(moduleUrl)};
    await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });`;
  let last = '';
  /**
   * Waits for the next step of the switch to password authentication. Each step runs PostgreSQL in single-user mode,
   * and PostgreSQL then writes a negative number into the pid file.
   */
  const awaitStep = async () => {
    last = await until(async () => {
      const [pid = ''] = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
      return pid.startsWith('-') && pid !== last ? pid : undefined;
    });
  };
  for (const steps of [1, 2]) {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: repository,
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    for (let step = 0; step < steps; step++) await awaitStep();
    process.kill(-(child.pid as number), 'SIGKILL');
    await once(child, 'exit');
  }
  await writeFile(settings, original);
  const { postgres } = await startIn(dataDir);
  expect(await query(postgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  expect(await query(postgres, readAttributes)).toEqual([harmless]);
  expect(await query(postgres, findForeign)).toEqual([]);
  for (const user of roles) expect(await refusalOf(postgres, { user })).toMatch(/^SASL: /);
});

test('if two servers start at the same time on an old data directory, one adds password protection and runs, and the other fails', async () => {
  const dataDir = await copyOf(trusting);
  const outcomes = await Promise.allSettled([startIn(dataDir), startIn(dataDir)]);
  const started = outcomes.filter(outcome => outcome.status === 'fulfilled').map(outcome => outcome.value.postgres);
  expect(started).toHaveLength(1);
  expect(outcomes.find(outcome => outcome.status === 'rejected')?.reason).toMatchObject({ code: 'in_use' });
  expect(await query(started[0] as EmbeddedPostgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  expect(await query(started[0] as EmbeddedPostgres, readAttributes)).toEqual([harmless]);
});

test('if a killed server of an old version left its PostgreSQL running, the next server restarts PostgreSQL so that it requires passwords', async () => {
  const dataDir = await copyOf(trusting);
  const left = await launchTrustingForTest(dataDir);
  const { postgres } = await startIn(dataDir);
  expect(await query(postgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  expect(await query(postgres, readAttributes)).toEqual([harmless]);
  expect(await refusalOf(postgres, { user: 'idea_board' })).toMatch(/^SASL: /);
  expect(left.child?.exitCode).toBe(0);
});

test('a command line tool can use the PostgreSQL of a running old server, but no second server can start on the same data directory', async () => {
  const dataDir = await copyOf(trusting);
  const { socketDir, port } = await launchTrustingForTest(dataDir);
  const owner = new Client({ host: socketDir, port, user: 'idea_board', database: 'postgres' });
  await owner.connect();
  await owner.query('select pg_advisory_lock(1)');
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({ code: 'in_use' });
  const command = await connectOrStart({ dataDir });
  expect(command.isOwner).toBe(false);
  expect(await query(command, 'select answer from kept')).toEqual([{ answer: 42 }]);
  await owner.end();
});

test('if the password file of the embedded PostgreSQL is lost, the next start sets a new password, and the old password no longer works', async () => {
  const first = await startIn(await copyOf(secured));
  await query(first.postgres, 'create table kept as select 42 as answer');
  await first.postgres.stop();
  await rm(join(first.dataDir, 'postgres.password'));
  const { postgres } = await startIn(first.dataDir);
  expect(await query(postgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  expect(await refusalOf(postgres, first.postgres.connection)).toBe('28P01');
});

const readAttributes = `
  select rolname as name, rolsuper, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user`;

const harmless = {
  name: 'idea_board',
  rolsuper: false,
  rolcreaterole: false,
  rolreplication: false,
  rolbypassrls: false,
};

/** Lists the database objects that the application role does not own. Omits extensions and their objects. */
const findForeign = `
  with owned as (
    select 'pg_database'::regclass as classid, oid, datdba as owner from pg_database where datname = current_database()
    union all select 'pg_namespace'::regclass, oid, nspowner from pg_namespace where nspname !~ '^pg_'
    union all select 'pg_class'::regclass, oid, relowner from pg_class
    union all select 'pg_proc'::regclass, oid, proowner from pg_proc
    union all select 'pg_type'::regclass, oid, typowner from pg_type
    union all select 'pg_collation'::regclass, oid, collowner from pg_collation
    union all select 'pg_ts_config'::regclass, oid, cfgowner from pg_ts_config
    union all select 'pg_ts_dict'::regclass, oid, dictowner from pg_ts_dict
    union all select 'pg_statistic_ext'::regclass, oid, stxowner from pg_statistic_ext
  )
  select (pg_identify_object(classid, owned.oid, 0)).identity, pg_get_userbyid(owner) as owner
  from owned
  where owned.oid >= 16384 and pg_get_userbyid(owner) <> 'idea_board'
    and not exists (
      select from pg_depend d where d.classid = owned.classid and d.objid = owned.oid and d.deptype = 'e'
    )
    -- Omits the array types and row types of an extension's objects.
    and not exists (
      select from pg_type t join pg_depend d on d.objid in (t.typelem, t.typrelid) and d.deptype = 'e'
      where owned.classid = 'pg_type'::regclass and t.oid = owned.oid
    )`;

async function createDataDir(dataDir: string) {
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false });
  await postgres.stop();
}

/**
 * Creates a data directory like those of old server versions. In such a directory, the application role is the
 * superuser, and PostgreSQL accepts every client without a password.
 */
async function createTrustingDataDir(dataDir: string) {
  const directory = join(dataDir, 'postgres');
  await mkdir(directory, { mode: 0o700 });
  if (isRoot) await chown(directory, unprivileged.uid, unprivileged.gid);
  const { initdb } = await locatePostgresBinaries();
  const args = ['--username', 'idea_board', '--auth-local', 'trust', '--auth-host', 'reject', '--no-sync'];
  await promisify(execFile)(
    initdb,
    [
      '--pgdata',
      directory,
      ...args,
      '--encoding',
      'UTF8',
      '--locale-provider',
      'builtin',
      '--builtin-locale',
      'C.UTF-8',
    ],
    { ...(isRoot && unprivileged), cwd: '/', env: postgresEnvironment },
  );
  const { socketDir, port, stop } = await launchTrusting(dataDir);
  const run = async (database: string, sql: string) => {
    const client = new Client({ host: socketDir, port, user: 'idea_board', database });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await run('postgres', 'create database idea_board');
  const url = `postgresql://idea_board@${encodeURIComponent(socketDir)}:${port}/idea_board?sslmode=disable`;
  await migrate(url);
  await run(
    'idea_board',
    `create table kept as select 42 as answer;
    create schema other;
    create table other.counted (id int generated always as identity, old serial) partition by range (id);
    create table other.counted_first partition of other.counted for values from (0) to (9);
    create sequence loose;
    create type mood as enum ('glad');
    create type pair as (a int, b int);
    create type span as range (subtype = int);
    create domain short as text check (length(value) < 9);
    create view seen as select * from kept;
    create materialized view seen_once as select * from kept;
    create procedure other.rest() language sql as 'select 1';
    create aggregate other.total (int) (sfunc = int4pl, stype = int);
    create collation other.plain from "C";
    create text search configuration other.words (copy = simple);
    create text search dictionary other.word (template = simple);
    create statistics other.both on id, old from other.counted_first;`,
  );
  await stop();
}

/** Starts a PostgreSQL of an old server version, which runs until the end of the test. */
async function launchTrustingForTest(dataDir: string): Promise<Postmaster> {
  const { stop, ...postmaster } = await launchTrusting(dataDir);
  onTestFinished(stop);
  return postmaster;
}

async function launchTrusting(dataDir: string): Promise<Postmaster & { stop: () => Promise<void> }> {
  const cluster = (await findCluster(dataDir)) as Cluster;
  const binaries = await locatePostgresBinaries();
  const launch = () => launchPostmaster(cluster, binaries, { isDurable: false, settings: {} });
  const postmaster = (await awaitPostmaster(cluster, launch)) as Postmaster;
  return { ...postmaster, stop: () => stopPostmaster(postmaster, cluster) };
}

/** Copies a data directory for one test. */
async function copyOf(original: string): Promise<string> {
  const dataDir = await makeScratchDirectory();
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  await promisify(execFile)('cp', ['-a', `${original}/.`, dataDir]);
  return dataDir;
}

async function startIn(dataDir: string) {
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false });
  onTestFinished(() => postgres.stop());
  return { postgres, dataDir };
}

async function query(postgres: EmbeddedPostgres, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(postgres.url());
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Tries to connect. Returns PostgreSQL's error code, the error message of the package `pg`, or the text 'connected'.
 */
async function refusalOf(
  { connection: { host, port } }: EmbeddedPostgres,
  { user, password = '' }: { user: string; password?: string },
): Promise<string> {
  const client = new Client({ host, port, user, password, database: 'postgres', ssl: false });
  return client.connect().then(
    async () => {
      await client.end();
      return 'connected';
    },
    (error: DatabaseError) => error.code ?? error.message,
  );
}

/**
 * Connects as the system user "nobody". Returns the type of PostgreSQL's first message and the authentication code in
 * this message, such as 'R 10'.
 */
async function askAsNobody({ connection: { host, port } }: EmbeddedPostgres, user: string): Promise<string> {
  const script = `
    const { connect } = require('node:net');
    const [socket, user] = process.argv.slice(1);
    const text = Buffer.from(\`user\\0\${user}\\0database\\0postgres\\0\\0\`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(text.length + 8, 0);
    head.writeInt32BE(196608, 4);
    const client = connect(socket, () => client.write(Buffer.concat([head, text])));
    client.once('data', data => {
      console.log(String.fromCharCode(data[0]), data.readInt32BE(5));
      client.destroy();
    });`;
  const args = ['--eval', script, join(host, `.s.PGSQL.${port}`), user];
  const { stdout } = await promisify(execFile)(process.execPath, args, asNobody());
  return stdout.trim();
}

function asNobody() {
  return { ...unprivileged, cwd: '/' };
}

async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(2)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error('it did not come true');
}
