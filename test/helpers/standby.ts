import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { locatePostgresBinaries } from '../../server/database/embedded/postgres-binaries.ts';
import { postgresEnvironment, unprivileged } from '../../server/database/embedded/postgres-program.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

/** A PostgreSQL without passwords that a test may stop, pause or promote. */
interface Postgres {
  url: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A primary with a streaming standby. The standby is a copy of the primary's directory. */
interface Pair {
  primary: Postgres;
  standby: Postgres;
  close(): Promise<void>;
}

const user = 'test';
/** PostgreSQL refuses to run as root. */
const ids = process.getuid?.() === 0 ? unprivileged : undefined;

/** Starts a primary, prepares its database, and starts a streaming standby of it. */
export async function startPair(prepare: (url: string) => Promise<void>): Promise<Pair> {
  const binaries = await locatePostgresBinaries();
  const directory = await makeScratchDirectory();
  const own = (path: string) => (ids ? chown(path, ids.uid, ids.gid) : undefined);
  await own(directory);
  const run = { ...ids, cwd: '/', env: postgresEnvironment };
  const files = join(directory, 'primary');
  await promisify(execFile)(
    binaries.initdb,
    ['-D', files, '-U', user, '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C'],
    run,
  );

  function node(name: string, port: number): Postgres {
    let child: ChildProcess | undefined;
    const url = `postgresql://${user}@${encodeURIComponent(directory)}:${port}/postgres?sslmode=disable`;
    const settings = {
      listen_addresses: '',
      unix_socket_directories: directory,
      port,
      fsync: 'off',
      autovacuum: 'off',
    };
    const parameters = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    return {
      url,
      async start() {
        child = spawn(binaries.postgres, ['-D', join(directory, name), ...parameters], { ...run, stdio: 'ignore' });
        await untilReady(url);
      },
      async stop() {
        if (!child || child.exitCode !== null) return;
        const exited = once(child, 'exit');
        child.kill('SIGINT');
        await exited;
      },
    };
  }

  const primary = node('primary', 5432);
  const standby = node('standby', 5433);
  await primary.start();
  await prepare(primary.url);
  await copyTo(join(directory, 'standby'));
  await standby.start();
  return {
    primary,
    standby,
    async close() {
      await standby.stop();
      await primary.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };

  /** Makes a base backup by SQL, because the embedded PostgreSQL has no pg_basebackup. */
  async function copyTo(target: string) {
    const client = new pg.Client({ connectionString: primary.url });
    await client.connect();
    await client.query(`select pg_backup_start('standby', true)`);
    await cp(files, target, { recursive: true, filter: source => !/postmaster\.(pid|opts)$/.test(source) });
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
    await client.end();
    await writeFile(join(target, 'backup_label'), rows[0].labelfile);
    await writeFile(join(target, 'standby.signal'), '');
    await writeFile(
      join(target, 'postgresql.auto.conf'),
      `primary_conninfo = 'host=${directory} port=5432 user=${user}'\n`,
    );
    await mkdir(join(target, 'pg_wal'), { recursive: true });
    for (const entry of await readdir(target, { recursive: true })) await own(join(target, entry));
    await own(target);
  }
}

/** Runs one statement on a connection of its own. */
export async function ask<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const startLimitMs = 20_000;

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + startLimitMs;
  for (;;) {
    try {
      await ask(url, 'select 1');
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(30);
    }
  }
}
