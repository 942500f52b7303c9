import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { testAppKey } from '../helpers/server.ts';
import { cliOn, main, runCli, runCliProcess } from './run-cli.ts';

const db = await createDatabaseForFile();
await createWorld(db, { slug: 'web-app', name: 'Web app ☾' });
await db.sql(`update users set email = 'ada@example.com'`);
// Makes the data invalid, so that the command `doctor` reports an error.
await db.sql(`update statuses set category = 'planned'`);
const settings = { DATABASE_URL: db.url, APP_KEY: testAppKey.toString('base64') };

/** The commands to compare. They cover every exit code and every output stream. */
const commands = [
  { line: 'board list --json', exitCode: 0, writes: 'stdout' },
  { line: 'member remove --user ada@example.com', exitCode: 1, writes: 'stderr' },
  { line: 'doctor --json', exitCode: 1, writes: 'stdout' },
  { line: 'nonsense', exitCode: 2, writes: 'stderr' },
];

/** Removes the number of open connections, which other tests on the same PostgreSQL change all the time. */
const withoutOpenConnections = (result: Awaited<ReturnType<typeof runCli>>) => ({
  ...result,
  stdout: result.stdout.replace(/\d+ are open/, 'some are open'),
});

test.each(commands)(
  'the command "$line" has the same output in its own process and in a process that ran other commands before',
  async one => {
    const words = one.line.split(' ');
    const [alone, afterOthers] = await Promise.all([runCliProcess(settings, ...words), runCli(settings, ...words)]);
    expect(withoutOpenConnections(alone)).toEqual(withoutOpenConnections(afterOthers));
    const { exitCode, stdout, stderr } = alone;
    expect({ exitCode, stdout: stdout !== '', stderr: stderr !== '' }).toEqual({
      exitCode: one.exitCode,
      stdout: one.writes === 'stdout',
      stderr: one.writes === 'stderr',
    });
  },
);

test('a CLI command writes all its output before its process ends', async () => {
  const cli = cliOn(db.url, settings, runCliProcess);
  const { exitCode, stdout, stderr } = await cli.run('token', 'create', '--name', 'Bot');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'This is the only time that the token is shown.\n' });
  const id = /^ib_(\d+)_/.exec(stdout.trimEnd().split('\n').at(-1) ?? '')?.[1];
  expect(await db.sql('select name from api_tokens where id = $1', [id])).toEqual([{ name: 'Bot' }]);
});

test.runIf(existsSync('/dev/full'))(
  'a CLI command exits with 1 and prints a one-line error if the disk has no space for its output',
  async () => {
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [main, 'board', '--help'], { stdio: ['ignore', full.fd, 'pipe'] });
    const [stderr, [exitCode]] = await Promise.all([child.stderr && text(child.stderr), once(child, 'close')]);
    await full.close();
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(/^The output .*ENOSPC.*\n$/) });
  },
);

test('a CLI command succeeds even if the reader of its output closes the pipe early', async () => {
  const child = spawn(process.execPath, [main, 'board', 'show'], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [stderr, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});
