import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, type DatabaseError } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../server/database/embedded/embedded-postgres.ts';
import { unprivileged } from '../../../server/database/embedded/postgres-program.ts';
import { migrate } from '../../../server/database/migrator.ts';
import { makeScratchDirectory } from '../../helpers/scratch-directory.ts';

const isRoot = process.getuid?.() === 0;
const repository = fileURLToPath(new URL('../../', import.meta.url));
const moduleUrl = new URL('../../../server/database/embedded/embedded-postgres.ts', import.meta.url).href;

const roles = ['idea_board', 'idea_board_superuser', 'postgres'];

test('a client of the embedded PostgreSQL needs the password of the application role', async () => {
  const { postgres, dataDir } = await startIn(await makeDataDir());
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
    const { postgres, dataDir } = await startIn(await makeDataDir());
    // PostgreSQL's authentication code 10 demands a password by SASL. With the code 0, PostgreSQL would accept the
    // client without a password.
    for (const user of roles) expect(await askAsNobody(postgres, user)).toBe('R 10');
    const reading = spawnSync('cat', [join(dataDir, 'postgres.password')], asNobody());
    expect(reading.status).not.toBe(0);
    expect(reading.stdout.toString()).toBe('');
  });

test('the application role of the embedded PostgreSQL is not a superuser and cannot become one', async () => {
  const { postgres } = await startIn(await makeDataDir());
  expect(await query(postgres, readAttributes)).toEqual([harmless]);
  await expect(query(postgres, 'alter role idea_board superuser')).rejects.toMatchObject({ code: '42501' });
  await expect(query(postgres, 'set role idea_board_superuser')).rejects.toMatchObject({ code: '42501' });
  await expect(query(postgres, `copy (select 1) to program 'true'`)).rejects.toMatchObject({ code: '42501' });
  await migrate(postgres.url());
  expect(await query(postgres, findForeign)).toEqual([]);
});

test('if a server is killed while it sets a new password for the embedded PostgreSQL, the next start completes this step', async () => {
  const first = await startIn(await makeDataDir());
  const { dataDir } = first;
  await query(first.postgres, 'create table kept as select 42 as answer');
  await first.postgres.stop();
  await rm(join(dataDir, 'postgres.password'));
  const settings = join(dataDir, 'postgres/postgresql.conf');
  const original = await readFile(settings);
  // PostgreSQL waits for a second at the start of each session, so that the test can observe the step.
  await appendFile(settings, 'post_auth_delay = 1\n');
  const script = `import { startEmbeddedPostgres } from ${JSON.stringify(moduleUrl)};
    await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: repository,
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // Waits for PostgreSQL's single-user mode, which writes a negative number into the pid file.
  await until(async () => {
    const text = await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8').catch(() => '');
    return text.startsWith('-') ? text : undefined;
  });
  process.kill(-(child.pid as number), 'SIGKILL');
  await once(child, 'exit');
  await writeFile(settings, original);
  const { postgres } = await startIn(dataDir);
  expect(await query(postgres, 'select answer from kept')).toEqual([{ answer: 42 }]);
  for (const user of roles) expect(await refusalOf(postgres, { user })).toMatch(/^SASL: /);
});

test('if the password file of the embedded PostgreSQL is lost, the next start sets a new password, and the old one no longer works', async () => {
  const first = await startIn(await makeDataDir());
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

async function makeDataDir(): Promise<string> {
  const dataDir = await makeScratchDirectory();
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
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
