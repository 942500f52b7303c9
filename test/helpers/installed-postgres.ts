import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { unprivileged } from '../../server/database/embedded/postgres-program.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

const run = promisify(execFile);

/**
 * Returns the directory of the programs of an installed PostgreSQL, or undefined if none is installed. The embedded
 * PostgreSQL has no pg_dump and pg_restore.
 */
export function findPostgresPrograms(): string | undefined {
  const installed = globSync('/usr/lib/postgresql/*/bin').sort().reverse();
  const candidates = [process.env.POSTGRES_PROGRAMS, ...installed];
  const directory = candidates.find(one => one && ['initdb', 'pg_dump'].every(name => existsSync(join(one, name))));
  if (directory === undefined) {
    console.warn(
      'No PostgreSQL with pg_dump is installed: tests of backups are skipped. Set POSTGRES_PROGRAMS to use one.',
    );
  }
  return directory;
}

/** Starts a PostgreSQL of the installed version. Its superuser has a password, as in production. */
export async function startInstalledPostgres(programs: string) {
  const parent = await makeScratchDirectory();
  const runAs = process.getuid?.() === 0 ? unprivileged : undefined;
  const directory = join(parent, 'data');
  // The path of a socket must be short.
  const socket = await mkdtemp('/tmp/idea-board-pg-');
  await mkdir(directory);
  const password = randomBytes(8).toString('hex');
  await writeFile(join(parent, 'password'), password);
  for (const path of [directory, socket, join(parent, 'password')]) {
    if (runAs) await chown(path, runAs.uid, runAs.gid);
  }
  await chmod(directory, 0o700);
  const options = { ...runAs, cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } };
  await run(
    join(programs, 'initdb'),
    [
      ['--pgdata', directory, '--username', 'postgres', '--pwfile', join(parent, 'password'), '--no-sync'],
      ['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C.UTF-8'],
    ].flat(),
    options,
  );
  const settings = ['fsync=off', 'listen_addresses=', `unix_socket_directories=${socket}`, 'max_connections=50'];
  const server = spawn(join(programs, 'postgres'), ['-D', directory, ...settings.flatMap(setting => ['-c', setting])], {
    ...options,
    stdio: 'ignore',
  });
  const urlOf = (database: string) => `postgresql://postgres:${password}@${encodeURIComponent(socket)}/${database}`;
  await awaitConnection(urlOf('postgres'));
  return {
    urlOf,
    async close() {
      server.kill('SIGINT');
      if (server.exitCode === null) await once(server, 'exit');
      await rm(parent, { recursive: true, force: true });
      await rm(socket, { recursive: true, force: true });
    },
  };
}

async function awaitConnection(url: string) {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(50);
    }
  }
}
