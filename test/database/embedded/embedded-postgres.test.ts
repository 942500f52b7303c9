import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, readlink, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  connectOrStart,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../../server/database/embedded/embedded-postgres.ts';
import type { EmbeddedPostgresError } from '../../../server/database/embedded/postgres-program.ts';
import { makeScratchDirectory } from '../../helpers/scratch-directory.ts';

const isRoot = process.getuid?.() === 0;
const nobody = 65534;
const repository = fileURLToPath(new URL('../../', import.meta.url));
const moduleUrl = new URL('../../../server/database/embedded/embedded-postgres.ts', import.meta.url).href;

/** Every embedded PostgreSQL that a test started. afterEach() stops them all. */
const running = new Set<EmbeddedPostgres>();
const children = new Set<ChildProcess>();

/** A data directory that PostgreSQL has already initialized, for the tests that are not about the first start. */
let dataDir: string;
const parents: string[] = [];

beforeAll(async () => {
  dataDir = await makeDataDir();
  await (await start(dataDir)).stop();
  return async () => {
    for (const parent of parents) await removeParent(parent);
  };
});

afterEach(async () => {
  for (const child of children) {
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid as number, 'SIGKILL');
  }
  for (const postgres of running) await postgres.stop();
  children.clear();
  running.clear();
});

describe('the first start of the embedded PostgreSQL', () => {
  test('the first start of the embedded PostgreSQL creates the application database in UTF-8 and a socket that only its owner can reach', async () => {
    const fresh = await makeDataDir();
    const postgres = await start(fresh);
    const [row] = await query(
      postgres,
      `select current_database() as database, current_user as "user", current_setting('server_version') as version,
        current_setting('server_encoding') as encoding, current_setting('listen_addresses') as addresses,
        current_setting('TimeZone') as timezone, lower('ÄŁИ') as lowered, 'Élan' ilike 'éLAN' as "isSame",
        to_tsvector('simple', '“quoted” — naïve')::text as words`,
    );
    expect(row).toMatchObject({
      database: 'idea_board',
      user: 'idea_board',
      encoding: 'UTF8',
      addresses: '',
      timezone: 'UTC',
    });
    expect(row).toMatchObject({ version: expect.stringMatching(/^18\./), lowered: 'äłи', isSame: true });
    expect(row).toMatchObject({ words: `'naïve':2 'quoted':1` });
    const socketDir = await stat(postgres.connection.host);
    expect(socketDir.mode & 0o777).toBe(0o700);
    expect(socketDir.uid).toBe((await stat(join(fresh, 'postgres'))).uid);
    expect((await readdir(fresh)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
  });

  test('if two processes start the embedded PostgreSQL in one empty data directory at the same time, one succeeds and the other fails', async () => {
    const fresh = await makeDataDir();
    const outcomes = await Promise.allSettled([start(fresh), start(fresh)]);
    expect(outcomes.map(outcome => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find(outcome => outcome.status === 'rejected')?.reason).toMatchObject({ code: 'in_use' });
    expect((await readdir(fresh)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
  });

  test('if the first start of the embedded PostgreSQL is killed during initdb, the next start succeeds and removes the unfinished files', async () => {
    const fresh = await makeDataDir();
    const killed = runScript(`await startEmbeddedPostgres({ dataDir: ${JSON.stringify(fresh)} })`, { detached: true });
    const findUnfinished = async () => (await readdir(fresh)).find(name => name.includes('.idea-board-new-'));
    await until(async () => existsSync(join(fresh, (await findUnfinished()) ?? 'none', 'PG_VERSION')));
    process.kill(-(killed.pid as number), 'SIGKILL'); // Kills the process group, which includes initdb.
    await once(killed, 'exit');
    expect(await findUnfinished()).toBeDefined();

    await query(await start(fresh), 'select 1');
    expect((await readdir(fresh)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
  });
});

describe('the owner of a data directory', () => {
  test('a second server on the same data directory fails with a one-line error, and the first server continues', async () => {
    const first = await start(dataDir);
    const refusal = await refused({ dataDir });
    expect(refusal).toMatchObject({ code: 'in_use', message: `another Idea-Board server is using ${dataDir}` });
    expect(first.isOwner).toBe(true);
    await query(first, 'select 1');
  });

  test('a server stays the owner of its data directory even if PostgreSQL ends the session that holds the lock on the ownership of the directory', async () => {
    const postgres = await start(dataDir);
    const holders = async () => {
      const rows = await query(postgres, `select pid from pg_locks where locktype = 'advisory' and granted`);
      return rows.map(({ pid }) => pid);
    };
    const [lost] = await holders();
    await query(postgres, `select pg_terminate_backend(${lost})`);
    // Waits, because the lock of the session that PostgreSQL ended may still exist for a short time.
    await until(async () => {
      const [holder] = await holders();
      return holder !== undefined && holder !== lost;
    });
    expect(await refused({ dataDir })).toMatchObject({ code: 'in_use' });
  });

  test('a command line tool uses the embedded PostgreSQL of a running server and leaves PostgreSQL running', async () => {
    const server = await start(dataDir);
    const tool = await connectOrStart({ dataDir, durable: false });
    expect(tool).toMatchObject({ isOwner: false, connection: server.connection });
    await tool.stop();
    await query(server, 'select 1');
  });

  test('a command line tool starts the embedded PostgreSQL if it is not running, and stops it at the end', async () => {
    const tool = await connectOrStart({ dataDir, durable: false });
    running.add(tool);
    const pid = await readPid(dataDir);
    expect(tool.isOwner).toBe(true);
    await tool.stop();
    expect(isAlive(pid)).toBe(false);
  });
});

describe('the end of the embedded PostgreSQL', () => {
  test('stop() ends the embedded PostgreSQL and removes its socket and pid file, and the data are there after the next start', async () => {
    const first = await start(dataDir);
    const pid = await readPid(dataDir);
    await query(first, `create table kept as select 42 as answer`);
    await first.stop();
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(first.connection.host)).toBe(false);
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
    expect(await query(await start(dataDir), 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  test('a start of the embedded PostgreSQL during its stop() waits until stop() has ended and then succeeds', async () => {
    const first = await start(dataDir);
    const before = await readPid(dataDir);
    const stopped = first.stop();
    const second = await start(dataDir);
    await stopped;
    expect(second.isOwner).toBe(true);
    expect(await readPid(dataDir)).not.toBe(before);
  });

  test('a process exits by itself after stop() of its embedded PostgreSQL', async () => {
    const child = runScript(`
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, durable: false });
      await postgres.stop();`);
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('after kill -9 of a server, the next server takes over the running PostgreSQL of the killed server with all committed data', async () => {
    const child = runScript(`
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
      const client = new pg.Client(postgres.url());
      await client.connect();
      await client.query('create table committed as select 7 as answer');
      console.log('committed');`);
    await readLine(child);
    const pid = await readPid(dataDir);
    process.kill(child.pid as number, 'SIGKILL');
    await once(child, 'exit');
    expect(isAlive(pid)).toBe(true);

    const adopted = await start(dataDir);
    expect(adopted.isOwner).toBe(true);
    expect(await readPid(dataDir)).toBe(pid);
    expect(await query(adopted, 'select answer from committed')).toEqual([{ answer: 7 }]);
    await adopted.stop();
    await until(async () => !isAlive(pid)); // PostgreSQL may end a moment after stop().
    expect(existsSync(adopted.connection.host)).toBe(false);
  });

  test('Ctrl-C sends a signal only to the server, and the embedded PostgreSQL answers queries until the server stops it', async () => {
    const child = runScript(
      `
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, durable: false });
      const client = new pg.Client(postgres.url());
      await client.connect();
      process.once('SIGINT', async () => {
        const { rows } = await client.query('select 1 as served');
        await client.end();
        await postgres.stop();
        console.log(rows[0].served);
      });
      console.log('ready');`,
      { detached: true },
    );
    await readLine(child);
    const pid = await readPid(dataDir);
    // PostgreSQL has its own process group, so a signal to the server's process group does not reach PostgreSQL.
    expect(process.kill(-pid, 0)).toBe(true);
    process.kill(-(child.pid as number), 'SIGINT');
    expect(await readLine(child)).toBe('1');
    expect(isAlive(pid)).toBe(false);
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe('a killed PostgreSQL', () => {
  test('after PostgreSQL was killed, the next start recovers the data and removes the old socket directory', async () => {
    const first = await start(dataDir, { durable: true });
    const pid = await readPid(dataDir);
    await query(first, `create table replayed as select 3 as answer`);
    process.kill(pid, 'SIGKILL');
    await until(async () => !isAlive(pid));
    running.delete(first);
    await first.stop();

    const second = await start(dataDir);
    expect(await query(second, 'select answer from replayed')).toEqual([{ answer: 3 }]);
    expect(existsSync(first.connection.host)).toBe(false);
  });

  test('the embedded PostgreSQL starts even if its old pid file contains the id of an unrelated process', async () => {
    const cluster = await realpath(join(dataDir, 'postgres'));
    const lines = [process.pid, cluster, 1, 5432, '/tmp/idea-board-gone', '', '1 1', 'ready'];
    await writeFile(join(cluster, 'postmaster.pid'), `${lines.join('\n')}\n`, { mode: 0o600 });
    const postgres = await start(dataDir);
    expect(await readPid(dataDir)).not.toBe(process.pid);
    await postgres.stop();
    expect(isAlive(process.pid)).toBe(true);
  });
});

describe('a failed start of the embedded PostgreSQL', () => {
  test('if the data directory of the embedded PostgreSQL cannot be created, the error message has only one line', async () => {
    const file = join(await makeDataDir(), 'file');
    await writeFile(file, '');
    const error = await refused({ dataDir: join(file, 'data') });
    expect(error).toMatchObject({ name: 'EmbeddedPostgresError' });
    expect(error.message).toMatch(/^cannot keep a database in .*\/file\/data: ENOTDIR[^\n]*$/);
    // Node's recursive mkdir never returns for a path in /proc. Even for such a path, the server must report an error.
    if (existsSync('/proc/self'))
      expect(await refused({ dataDir: '/proc/idea-board/data' })).toMatchObject({ name: 'EmbeddedPostgresError' });
  });

  // Skips the test for root, because root could write even to a read-only directory.
  if (!isRoot) {
    test('if the server may not write to the data directory of the embedded PostgreSQL, the error message has only one line', async () => {
      const readOnly = await makeDataDir();
      await chmod(readOnly, 0o500);
      expect((await refused({ dataDir: readOnly })).message).toMatch(/^cannot keep a database in [^\n]*EACCES[^\n]*$/);
    });
  }

  test('the embedded PostgreSQL does not start in a directory with unrelated files, reports a one-line error and leaves the files unchanged', async () => {
    const occupied = await makeDataDir();
    await mkdir(join(occupied, 'postgres'));
    await writeFile(join(occupied, 'postgres/notes.txt'), 'mine');
    const error = await refused({ dataDir: occupied });
    expect(error.message).toBe(`${join(occupied, 'postgres')} exists but is not a PostgreSQL database: remove it`);
    expect(await readFile(join(occupied, 'postgres/notes.txt'), 'utf8')).toBe('mine');
    expect(await readdir(join(occupied, 'postgres'))).toEqual(['notes.txt']);
  });

  test('if the embedded PostgreSQL exits during its start, the error names the cause in one line', async () => {
    const error = await refused({ dataDir, settings: { max_connections: 'plenty' } });
    expect(error.message).toMatch(/ did not start: .*FATAL: .*max_connections.*"plenty"$/);
    expect(error.message).not.toContain('\n');
  });
});

if (isRoot)
  describe('the system user that runs the embedded PostgreSQL', () => {
    test('if the server runs as root, PostgreSQL runs as the system user "nobody" in a directory that this user can enter', async () => {
      await start(dataDir);
      const pid = await readPid(dataDir);
      expect((await lstat(join(dataDir, 'postgres'))).isDirectory()).toBe(true);
      expect(await stat(join(dataDir, 'postgres'))).toMatchObject({ uid: nobody, gid: nobody });
      expect(await stat(dataDir)).toMatchObject({ uid: 0, gid: 0 });
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => undefined);
      if (status === undefined) return; // This platform has no directory /proc.
      expect(status).toMatch(/^Uid:\s+65534\s+65534\s+65534\s+65534$/m);
      expect(status).toMatch(/^Groups:\s*$/m);
    });

    test('if only root can enter the data directory, the directory keeps its permissions and gets a symbolic link to a database in /var/lib', async () => {
      const hidden = await makeDataDir(0o700);
      const first = await start(hidden);
      await query(first, 'create table kept as select 1');
      const link = await readlink(join(hidden, 'postgres'));
      expect(link).toMatch(/^\/var\/lib\/idea-board\/[0-9a-f]{12}$/);
      expect(await stat(link)).toMatchObject({ uid: nobody });
      expect(await stat(join(hidden, '..'))).toMatchObject({ uid: 0, mode: 0o40700 });
      await first.stop();

      const second = await start(hidden);
      expect(await query(second, 'table kept')).toHaveLength(1);
      await second.stop();

      await rm(hidden, { recursive: true });
      const third = await start(hidden);
      expect(await query(third, `select to_regclass('kept') as kept`)).toEqual([{ kept: null }]);
      await third.stop();
      await rm(link, { recursive: true });

      // The server must not replace a symbolic link to a missing database with a new database.
      await rm(await readlink(join(hidden, 'postgres')), { recursive: true });
      expect((await refused({ dataDir: hidden })).message).toMatch(/ is a link to a missing database: /);
    });

    // The next test runs only if the system user "nobody" can read this repository and run Node.
    const canNobodyRun =
      isRoot && spawnSync(process.execPath, [moduleUrl.slice('file://'.length)], asNobody()).status === 0;

    if (canNobodyRun)
      test('if the server does not run as root, it runs the PostgreSQL binaries directly from node_modules', async () => {
        const own = await makeDataDir();
        await chmod(own, 0o777);
        const child = runScript(
          `
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(join(own, 'data'))}, durable: false });
      console.log('ready');
      process.stdin.once('data', async () => {
        await postgres.stop();
        process.exit();
      });`,
          asNobody(),
        );
        await readLine(child);
        const pid = await readPid(join(own, 'data'));
        if (process.platform === 'linux') expect(await readlink(`/proc/${pid}/exe`)).toContain('node_modules');
        child.stdin?.write('stop\n');
        expect(await once(child, 'exit')).toEqual([0, null]);
        expect(isAlive(pid)).toBe(false);
      });
  });

/** Returns the process id of the PostgreSQL that runs in a data directory. */
async function readPid(directory: string) {
  return Number((await readFile(join(directory, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Creates a data directory. By default, every user can enter its parent directory. */
async function makeDataDir(parentMode = 0o755) {
  const parent = await makeScratchDirectory();
  parents.push(parent);
  await chmod(parent, parentMode);
  await mkdir(join(parent, 'data'));
  return join(parent, 'data');
}

/**
 * Removes the parent directory of a data directory. If the data directory contains a symbolic link, also removes the
 * link's target.
 */
async function removeParent(parent: string) {
  const cluster = await readlink(join(parent, 'data/postgres')).catch(() => undefined);
  if (cluster !== undefined) await rm(cluster, { recursive: true, force: true });
  await chmod(join(parent, 'data'), 0o700).catch(() => {});
  await rm(parent, { recursive: true });
}

async function start(directory: string, options?: Partial<EmbeddedPostgresOptions>) {
  const postgres = await startEmbeddedPostgres({ dataDir: directory, durable: false, ...options });
  running.add(postgres);
  return postgres;
}

async function refused(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgresError> {
  return startEmbeddedPostgres({ durable: false, ...options }).then(
    async postgres => {
      await postgres.stop();
      throw new Error('PostgreSQL started');
    },
    error => error,
  );
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

/** Runs code in a separate Node process, because some tests kill that process and the test process must survive. */
function runScript(body: string, options: object = {}) {
  const script = `import pg from 'pg'; import { startEmbeddedPostgres } from ${JSON.stringify(moduleUrl)};\n${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: repository, // Node finds the package `pg` from this directory.
    stdio: ['pipe', 'pipe', 'inherit'],
    ...options,
  });
  children.add(child);
  return child;
}

function asNobody() {
  return { uid: nobody, gid: nobody };
}

async function readLine(child: ChildProcess) {
  const [chunk] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  return String(chunk).trim();
}

async function until(isTrue: () => Promise<boolean>) {
  for (const deadline = Date.now() + 30_000; !(await isTrue()); await sleep(5)) {
    if (Date.now() > deadline) throw new Error('it did not come true');
  }
}

function isAlive(pid: unknown) {
  try {
    process.kill(pid as number, 0);
    // A zombie process counts as ended, because a container may have no process that reaps zombies.
    const stat = existsSync('/proc/self/stat') ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '';
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}
