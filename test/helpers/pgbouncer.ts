import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { unprivileged } from '../../server/database/embedded/postgres-program.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

export interface PgBouncerProgram {
  path: string;
  /** The version as a number: 124 for PgBouncer 1.24. */
  version: number;
}

/** Finds PgBouncer. If it is not installed, warns and returns undefined. */
export function findPgBouncer(): PgBouncerProgram | undefined {
  const candidates = [process.env.PGBOUNCER_PATH, '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'];
  const path = candidates.find(candidate => candidate && existsSync(candidate));
  if (!path) {
    console.warn('No PgBouncer is installed: its tests are skipped. Set PGBOUNCER_PATH to use one.');
    return undefined;
  }
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' })) ?? [];
  return { path, version: Number(major) * 100 + Number(minor) };
}

/**
 * Starts PgBouncer for the PostgreSQL at `url`, with at most three connections to it. Returns the URL of the same
 * database through PgBouncer. PgBouncer stops at the end of the test.
 */
export async function startPgBouncerForTest(
  { path }: PgBouncerProgram,
  url: string,
  settings: Record<string, string | number> = {},
): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const directory = await makeScratchDirectory();
  const socket = join(directory, 'socket');
  await mkdir(socket);
  const server = `host=${decodeURIComponent(hostname)} port=${port || '5432'}`;
  const given = { pool_mode: 'transaction', default_pool_size: 3, ...settings };
  const configuration = join(directory, 'pgbouncer.ini');
  await writeFile(
    configuration,
    `[databases]
* = ${server} connect_query='set statement_timeout = 10000'
[pgbouncer]
unix_socket_dir = ${socket}
auth_type = trust
auth_file = ${join(directory, 'users.txt')}
${Object.entries(given)
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
  );
  await writeFile(
    join(directory, 'users.txt'),
    `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`,
  );
  const isRoot = process.getuid?.() === 0;
  // PgBouncer refuses to run as root.
  if (isRoot) await chown(socket, unprivileged.uid, unprivileged.gid);
  const child = spawn(path, [configuration], { stdio: ['ignore', 'ignore', 'pipe'], ...(isRoot ? unprivileged : {}) });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
    await rm(directory, { recursive: true, force: true });
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (data: Buffer) => {
      log += data;
      if (log.includes('process up')) resolve();
    });
    exited.then(() => reject(new Error(`PgBouncer ended:\n${log}`)), reject);
  });
  return `postgresql://${username}:${password}@${encodeURIComponent(socket)}:6432${pathname}?sslmode=disable`;
}
