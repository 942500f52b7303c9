import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { diagnoseClock } from '../../server/cli/diagnosis/connections.ts';
import { diagnoseDisks } from '../../server/cli/diagnosis/disk.ts';
import { createBareDatabase } from '../helpers/database.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { runCli } from './run-cli.ts';

const server = await startServerForFile();

/** Runs the command `doctor`. Returns the findings that match the pattern, each as `<level>: <what>`. */
async function diagnose(settings: Record<string, string>, pattern: RegExp): Promise<string[]> {
  const { stdout, stderr } = await runCli({ DATABASE_URL: server.url, ...settings }, 'doctor', '--json');
  expect(stderr).toBe('');
  const findings: { level: string; what: string; remedy: string | null }[] = JSON.parse(stdout).findings;
  const found = findings.filter(({ what }) => pattern.test(what));
  for (const { level, what, remedy } of found) expect(remedy === null, what).toBe(level === 'ok');
  return found.map(({ level, what }) => `${level}: ${what}`);
}

test('the command `doctor` warns if no Idea-Board server answers at BASE_URL', async () => {
  const origin = /BASE_URL|answers at|\/health/;
  expect(await diagnose({ BASE_URL: server.baseUrl }, origin)).toEqual([`ok: The server answers at ${server.baseUrl}`]);
  const other = await startReceiverForTest(200);
  expect(await diagnose({ BASE_URL: other.url }, origin)).toEqual([
    `warning: ${other.url}/health answers 200, and not as Idea-Board does`,
  ]);
  await other.close();
  expect(await diagnose({ BASE_URL: other.url }, origin)).toEqual([
    expect.stringMatching(`^warning: ${other.url}/health does not answer: connect ECONNREFUSED`),
  ]);
  expect(await diagnose({ BASE_URL: 'http://ideas.invalid' }, origin)).toEqual([
    'warning: BASE_URL begins with http://, so anybody on the network can read tokens and passwords',
    expect.stringMatching('^warning: http://ideas.invalid/health does not answer: getaddrinfo'),
  ]);
});

test('the command `doctor` reports a TRUST_PROXY that is unset behind a proxy, is true, or is invalid', async () => {
  const proxy = /TRUST_PROXY/;
  const behindProxy = { NODE_ENV: 'production', BASE_URL: 'https://localhost:1' };
  expect(await diagnose({ ...behindProxy, TRUST_PROXY: '127.0.0.1, loopback' }, proxy)).toEqual([]);
  expect(await diagnose(behindProxy, proxy)).toEqual([expect.stringMatching('^warning: TRUST_PROXY is unset')]);
  expect(await diagnose({ TRUST_PROXY: 'true' }, proxy)).toEqual([
    expect.stringMatching('^warning: With TRUST_PROXY=true'),
  ]);
  expect(await diagnose({ TRUST_PROXY: 'caddy' }, proxy)).toEqual([
    'error: The setting TRUST_PROXY is invalid: must be IP addresses or CIDRs, separated by commas, or true',
  ]);
});

test('the command `doctor` reports a mail server that refuses connections as an error, and a missing mail server in production as a warning', async () => {
  const mail = /mail server|SMTP_URL is/;
  const receiver = await startSmtpReceiver();
  const { host } = new URL(receiver.url);
  expect(await diagnose({ SMTP_URL: receiver.url }, mail)).toEqual([
    `ok: The mail server ${host} accepts the connection`,
  ]);
  expect(receiver.received).toEqual([]);
  await receiver.close();
  expect(await diagnose({ SMTP_URL: receiver.url }, mail)).toEqual([
    expect.stringMatching(`^error: The mail server ${host} cannot be used: connect ECONNREFUSED`),
  ]);
  expect(await diagnose({ NODE_ENV: 'production' }, mail)).toEqual([
    'warning: SMTP_URL is unset, so the server sends no mail',
  ]);
  expect(await diagnose({}, mail)).toEqual([]);
});

test('the command `doctor` reports a DATABASE_READ_URL of another database as an error, and warns if the replica does not answer', async () => {
  const urls = /lead to|DATABASE_READ_URL/;
  expect(await diagnose({}, urls)).toEqual([]);
  expect(await diagnose({ DATABASE_READ_URL: server.url }, urls)).toEqual([
    'ok: The URLs of the database lead to the same database',
  ]);
  const other = await createBareDatabase();
  onTestFinished(() => other.drop());
  expect(await diagnose({ DATABASE_READ_URL: other.url }, urls)).toEqual([
    'error: DATABASE_URL and DATABASE_READ_URL lead to different databases',
  ]);
  expect(await diagnose({ DATABASE_READ_URL: 'postgresql://127.0.0.1:1/ideas' }, urls)).toEqual([
    expect.stringMatching('^warning: The replica at DATABASE_READ_URL does not answer: connect ECONNREFUSED'),
  ]);
});

test('the command `doctor` warns if one process can open more connections than PostgreSQL allows', async () => {
  const connections = /^PostgreSQL allows/;
  expect(await diagnose({}, connections)).toEqual([expect.stringMatching('^ok: .* a process opens up to 59$')]);
  expect(await diagnose({ DATABASE_POOL_SIZE: '1000', WORKER: '0' }, connections)).toEqual([
    expect.stringMatching('^warning: .* a process opens up to 1004$'),
  ]);
});

test('the command `doctor` warns if the clock of its machine and the clock of PostgreSQL differ by more than five seconds', async () => {
  expect(await diagnose({}, /clocks/)).toEqual(['ok: The clocks of this machine and of PostgreSQL agree']);
  onTestFinished(() => void vi.useRealTimers());
  for (const shiftMs of [-60_000, 60_000]) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shiftMs });
    expect((await diagnoseClock(server.database.db)).what).toMatch(/differ by (59|60|61) seconds$/);
    vi.useRealTimers();
  }
});

test('the command `doctor` warns about a full disk, and reports a missing directory of the audit log as an error', async () => {
  const directory = import.meta.dirname;
  const config = { DATABASE_URL: undefined, DATA_DIR: directory, AUDIT_LOG: join(directory, 'audit.log') };
  const levels = async (minimum?: number) => (await diagnoseDisks(config, minimum)).map(({ level }) => level);
  expect(await levels(0)).toEqual(['ok', 'ok']);
  expect(await levels(Number.MAX_SAFE_INTEGER)).toEqual(['warning', 'warning']);
  const missing = join(directory, 'missing');
  expect(await diagnose({ AUDIT_LOG: join(missing, 'audit.log') }, /AUDIT_LOG/)).toEqual([
    `error: The directory ${missing} of AUDIT_LOG does not exist`,
  ]);
});
