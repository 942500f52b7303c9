import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../server/config.ts';
import { buildAuditLog } from '../../server/observability/audit-log.ts';
import { openAuditLog } from '../../server/observability/open-audit-log.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { cliOn } from '../cli/run-cli.ts';
import { readAudit } from '../helpers/audit.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { startServerForTest, testAppKey } from '../helpers/server.ts';

const redactor = buildRedactor({ appKey: testAppKey });

function auditLog(repeatWindowMs?: number) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = buildAuditLog({ destination, redactor, ...(repeatWindowMs === undefined ? {} : { repeatWindowMs }) });
  return { ...log, lines };
}

const failed = (ip: string, requestId = 'r') =>
  ['authentication.failed', { request_id: requestId, ip, reason: 'missing' }] as const;

describe('an audit entry', () => {
  test('an audit entry has a time and an event name, and no field or nested field contains a whole email address or secret', () => {
    const { record, lines } = auditLog();
    const token = `ib_7_${'s'.repeat(43)}`;
    const details = { to: ['ada@example.com'], [token]: { password: 'abc', cause: new Error(`Bearer ${token}`) } };
    record('extension.recorded', { extension: 'crm', what: 'told ada@example.com', details }, new Date(0));
    expect(readAudit(lines)).toMatchObject([
      {
        event: 'extension.recorded',
        time: '1970-01-01T00:00:00.000Z',
        what: 'told a***@e***.com#c7f22a2b3094',
        details: { to: ['a***@e***.com#c7f22a2b3094'], 'ib_7_[Redacted]': { password: '[Redacted]' } },
      },
    ]);
    expect(lines.join('')).not.toMatch(/ada@|sss|abc/);
  });

  test.each([
    ['203.0.113.7', '203.0.113.0/24', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.0/24', '203.0.113.7'],
    ['2001:db8:aa:bb:1::7', '2001:db8:aa::/48', '2001:db8:aa:bb::/64'],
    ['2001:db8:aa:bb:ffff::1', '2001:db8:aa::/48', '2001:db8:aa:bb::/64'],
    ['fe80::1%eth0', 'fe80::/48', 'fe80::/64'],
  ])(
    'an audit entry for the client IP address %s contains only the IP network %s and a hash of the address',
    (ip, network, hashed) => {
      const { record, lines } = auditLog();
      record(...failed(ip));
      expect(readAudit(lines)[0]?.ip).toBe(`${network}#${redactor.hash(hashed)}`);
      expect(lines[0]).not.toContain(`"${ip}`);
    },
  );

  test('an audit entry has "unknown" instead of the client\'s IP network if the IP address of the client is invalid', () => {
    const { record, lines } = auditLog();
    record(...failed('ada@example.com'));
    expect(readAudit(lines)[0]?.ip).toBe('unknown');
  });
});

describe('a repeated audit entry', () => {
  test('the audit log writes the first of several equal entries immediately, and writes the number of repetitions when the log is closed', () => {
    const { record, close, lines } = auditLog();
    for (let n = 0; n < 1000; n++) record(...failed('203.0.113.7', `request-${n}`));
    record(...failed('198.51.100.1'));
    expect(readAudit(lines)).toMatchObject([{ request_id: 'request-0' }, { request_id: 'r' }]);
    close();
    const [, , repeated, ...others] = readAudit(lines);
    expect(repeated).toEqual({
      event: 'authentication.failed',
      time: expect.any(String),
      ip: `203.0.113.0/24#${redactor.hash('203.0.113.7')}`,
      reason: 'missing',
      repeated: 999,
    });
    expect(others).toEqual([]);
  });

  test('the audit log writes an audit entry in full again if the entry recurs after the audit log has stopped counting its repetitions', async () => {
    const { record, lines } = auditLog(20);
    record(...failed('203.0.113.7'));
    record(...failed('203.0.113.7'));
    await expect.poll(() => lines.length).toBe(2);
    record(...failed('203.0.113.7'));
    expect(readAudit(lines).map(({ repeated }) => repeated)).toEqual([undefined, 1, undefined]);
  });

  test('50,000 audit entries for different IP addresses within a minute cause only about 100 lines in the audit log', () => {
    const { record, close, lines } = auditLog();
    for (let n = 0; n < 50_000; n++) record(...failed(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`));
    for (let n = 0; n < 50; n++) record(...failed('10.0.0.1'));
    close();
    expect(lines).toHaveLength(102);
    expect(readAudit(lines).slice(-2)).toEqual([
      expect.objectContaining({ ip: expect.any(String), repeated: 50 }),
      { event: 'authentication.failed', time: expect.any(String), repeated: 49_900 },
    ]);
  });

  test('the audit log combines equal entries of authentication.failed and token.used_after_expiry, but writes every entry of token.revoked on its own line', () => {
    const { record, lines } = auditLog();
    for (let n = 0; n < 3; n++) {
      record(...failed('203.0.113.7'));
      record('token.used_after_expiry', { request_id: 'r', ip: '203.0.113.7', account_id: 1, token_id: 7 });
      record('token.revoked', { by: 'operator', account_id: 1, token_id: 7 });
    }
    expect(
      readAudit(lines)
        .map(({ event }) => event)
        .sort(),
    ).toEqual(['authentication.failed', 'token.revoked', 'token.revoked', 'token.revoked', 'token.used_after_expiry']);
  });
});

describe('the audit log file', () => {
  async function scratchDirectory() {
    const path = await mkdtemp(join(tmpdir(), 'idea-board-audit-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    return path;
  }
  function open(file: string) {
    const complaints: string[] = [];
    const logger = pino({}, { write: line => void complaints.push(line) });
    const opened = openAuditLog({ AUDIT_LOG: file }, redactor, logger);
    let isOpen = true;
    const close = () => {
      if (isOpen) opened.close();
      isOpen = false;
    };
    onTestFinished(close);
    return { ...opened, close, complaints };
  }
  const revoke = (audit: ReturnType<typeof open>['audit'], id: number) =>
    audit.record('token.revoked', { by: 'operator', account_id: 1, token_id: id });
  const idsIn = async (file: string) =>
    readAudit((await readFile(file, 'utf8')).split(/(?<=\n)/)).map(({ token_id }) => token_id);

  test("only the server's own user account can read a new audit log file, and the server keeps permissions that an administrator changes later", async () => {
    const file = join(await scratchDirectory(), 'audit.log');
    revoke(open(file).audit, 1);
    expect(await idsIn(file)).toEqual([1]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await chmod(file, 0o640);
    revoke(open(file).audit, 2);
    expect(await idsIn(file)).toEqual([1, 2]);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  test('when the audit log is closed, the server writes to the log file how often an entry was repeated', async () => {
    const file = join(await scratchDirectory(), 'audit.log');
    const { audit, close } = open(file);
    for (let n = 0; n < 3; n++) audit.record(...failed('203.0.113.7'));
    close();
    const lines = readAudit((await readFile(file, 'utf8')).split(/(?<=\n)/));
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 2]);
  });

  test('the server reopens the audit log file after SIGHUP, and no audit entry is lost when the file is rotated', async () => {
    const file = join(await scratchDirectory(), 'audit.log');
    const listeners = process.listenerCount('SIGHUP');
    const { audit, close } = open(file);
    revoke(audit, 1);
    await rename(file, `${file}.1`);
    revoke(audit, 2);
    process.emit('SIGHUP');
    revoke(audit, 3);
    expect(await idsIn(`${file}.1`)).toEqual([1, 2]);
    expect(await idsIn(file)).toEqual([3]);
    close();
    expect(process.listenerCount('SIGHUP')).toBe(listeners);
  });

  test('if SIGHUP cannot reopen the audit log file, the server logs an error and continues to write to the old file', async () => {
    const file = join(await scratchDirectory(), 'audit.log');
    const { audit, complaints } = open(file);
    await rename(file, `${file}.1`);
    await mkdir(file);
    process.emit('SIGHUP');
    revoke(audit, 1);
    expect(await idsIn(`${file}.1`)).toEqual([1]);
    expect(complaints.join('')).toContain('the audit log cannot be written');
  });

  test.runIf(process.platform === 'linux')(
    'if the disk is full, a write to the audit log throws no error, and the server logs the problem once',
    async () => {
      const { audit, complaints } = open('/dev/full');
      for (let n = 0; n < 5; n++) revoke(audit, n);
      await expect.poll(() => complaints).toHaveLength(1);
      expect(JSON.parse(complaints[0] ?? '')).toMatchObject({
        err: { code: 'ENOSPC' },
        file: '/dev/full',
        msg: 'the audit log cannot be written',
      });
    },
  );

  test('opening an audit log file in a missing directory throws a ConfigError that names the file', async () => {
    const file = join(await scratchDirectory(), 'missing', 'audit.log');
    expect(() => open(file)).toThrow(ConfigError);
    expect(() => open(file)).toThrow(`AUDIT_LOG cannot be written: ENOENT: no such file or directory, open '${file}'`);
  });
});

describe('a CLI command', () => {
  test('a CLI command stores its audit entries as jobs, and a worker writes these entries in their original order with their original times', async () => {
    const server = await startServerForTest();
    await createWorld(server);
    const cli = cliOn(server.url);
    await cli.json('board', 'update', '--freeze');
    await cli.json('board', 'update', '--unfreeze');
    await cli.json('board', 'list');
    const created = await cli.json<{ id: number; token: string }>('token', 'create', '--name', 'Bot');
    expect(server.auditLines).toEqual([]);
    const [job] = await server.sql<{ payload: string }>(
      'select payload::text from graphile_worker._private_jobs order by id desc limit 1',
    );
    expect(job?.payload).not.toContain(created.token.slice(-43));
    const before = new Date().toISOString();
    expect(await runJobs(server)).toEqual([]);
    const lines = readAudit(server.auditLines);
    expect(lines).toMatchObject([
      { event: 'board.frozen', by: 'operator' },
      { event: 'board.unfrozen', by: 'operator' },
      { event: 'token.created', by: 'operator', token_id: created.id },
    ]);
    for (const { time } of lines) expect(time < before).toBe(true);
  });

  test('a refused CLI command stores no audit entries', async () => {
    const server = await startServerForTest();
    await createWorld(server);
    await cliOn(server.url).refusal('status', 'remove', 'open');
    await cliOn(server.url).refusal('token', 'revoke', '99');
    expect(await runJobs(server)).toEqual([]);
    expect(server.auditLines).toEqual([]);
  });
});

test('the page docs/audit-log.md lists exactly the events of the audit log', async () => {
  const script = fileURLToPath(new URL('../../scripts/audit-events.ts', import.meta.url));
  const child = spawn(process.execPath, [script, '--check'], { stdio: ['ignore', 'inherit', 'pipe'] });
  const ended = new Promise(resolve => child.on('close', resolve));
  expect([await text(child.stderr), await ended]).toEqual(['', 0]);
});
