import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { unprivileged } from '../../server/database/embedded/postgres-program.ts';

/** Returns the directory with the programs of the newest PostgreSQL from a Debian package. */
export function findPostgres(): string {
  const [newest] = globSync('/usr/lib/postgresql/*/bin/initdb').sort().reverse();
  if (newest === undefined) throw new Error('install PostgreSQL, such as the package postgresql');
  return dirname(newest);
}

/** Starts an empty PostgreSQL with a role and a database as in compose.yaml. */
export async function startPostgres(programs: string, port: number, password: string) {
  const directory = mkdtempSync('/tmp/idea-board-postgres-');
  const runAs = process.getuid?.() === 0 ? unprivileged : undefined;
  const options = { ...runAs, cwd: '/', env: { LC_ALL: 'C.UTF-8' } };
  const data = join(directory, 'data');
  const passwordFile = join(directory, 'password');
  mkdirSync(data, { mode: 0o700 });
  const superuserPassword = randomBytes(16).toString('hex');
  writeFileSync(passwordFile, superuserPassword);
  if (runAs) for (const path of [directory, data, passwordFile]) chownSync(path, runAs.uid, runAs.gid);
  const initialize = ['-D', data, '-U', 'postgres', '--pwfile', passwordFile, '-A', 'scram-sha-256', '-E', 'UTF8'];
  execFileSync(join(programs, 'initdb'), initialize, { ...options, stdio: 'ignore' });
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`];
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings.flatMap(one => ['-c', one])], {
    ...options,
    stdio: 'ignore',
  });
  const ended = once(server, 'exit');
  const urlOf = (name: string, user: string, secret: string) =>
    `postgresql://${user}:${secret}@127.0.0.1:${port}/${name}`;
  const client = await connect(urlOf('postgres', 'postgres', superuserPassword));
  // The role may create databases, because the rehearsal of an upgrade creates a database.
  await client.query(`create role ideas login createdb password '${password}'`);
  await client.query('create database ideas owner ideas');
  const { rows } = await client.query('show server_version');
  await client.end();
  return {
    url: urlOf('ideas', 'ideas', password),
    version: String(rows[0].server_version),
    kill: () => server.kill('SIGQUIT'),
    /** Stops PostgreSQL and deletes its data. With SIGQUIT, PostgreSQL stops at once, as after a crash. */
    async remove(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT') {
      server.kill(signal);
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function connect(url: string): Promise<pg.Client> {
  for (const deadline = performance.now() + 30_000; ; await delay(50)) {
    const client = new pg.Client(url);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}
