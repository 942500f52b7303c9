import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { testAppKey } from '../helpers/server.ts';

const masked = 'a***@e***.com#c7f22a2b3094';
const secret = `ib_7_${'s'.repeat(43)}`;

/** Calls `work` with a logger. Returns the lines that the logger writes. */
function linesOf(work: (logger: Logger) => void) {
  const lines: string[] = [];
  work(buildLogger({ ...loadConfig({}), APP_KEY: testAppKey }, { write: line => void lines.push(line) }));
  expect(lines.join('')).not.toMatch(/ada@|sssss/);
  return lines.map(line => JSON.parse(line));
}

test('the logger masks email addresses and redacts secrets in log messages and error messages', () => {
  const error = new Error(`ada@example.com has ${secret}`);
  const lines = linesOf(logger => {
    logger.info(`ada@example.com has ${secret}`);
    logger.info('%s has %s', 'ada@example.com', secret);
    logger.error(error);
    logger.error({ err: error });
  });
  expect(lines.map(({ msg }) => msg)).toEqual(Array(4).fill(`${masked} has ib_7_[Redacted]`));
  expect(lines[2].err).toMatchObject({ type: 'Error', message: `${masked} has ib_7_[Redacted]` });
});

test('the logger masks email addresses and redacts secrets in the fields of child loggers', () => {
  const [line] = linesOf(logger => {
    const child = logger.child({ user: 'ada@example.com', password: 'sssss' });
    child.child({ reqId: secret }, { level: 'info' }).info({ to: ['ada@example.com'] }, 'sent');
  });
  expect(line).toMatchObject({
    user: masked,
    password: '[Redacted]',
    reqId: 'ib_7_[Redacted]',
    to: [masked],
    msg: 'sent',
  });
});

test("the logger does not change a request's log line that contains no secrets", () => {
  const fields = { method: 'GET', path: '/api/v1/ideas/7', status: 200, durationMs: 1.5, tokenId: 7 };
  expect(linesOf(logger => logger.child({ reqId: 'r-1' }).info({ ...fields, nothing: undefined }, 'request'))).toEqual([
    { level: 30, time: expect.any(String), reqId: 'r-1', ...fields, msg: 'request' },
  ]);
});

test('the logger redacts secret extension settings, such as an API key, anywhere in a log line, and keeps other extension settings', () => {
  const lines: string[] = [];
  const extension = { settings: { API_KEY: 'key-of-an-extension-1', BOARD: 'web-app-of-acme' } };
  const logger = buildLogger(loadConfig({}), { write: line => void lines.push(line) }, [extension]);
  logger.info({ err: new Error('key-of-an-extension-1 is refused for web-app-of-acme') });
  expect(JSON.parse(lines[0] ?? '').err.message).toBe('[Redacted] is refused for web-app-of-acme');
});

test('the hash in a masked email address depends on the application key as soon as the key file exists', async () => {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'idea-board-logger-'));
  onTestFinished(() => rm(DATA_DIR, { recursive: true, force: true }));
  const lines: string[] = [];
  const logger = buildLogger(loadConfig({ DATA_DIR }), { write: line => void lines.push(line) });
  logger.info('ada@example.com');
  await writeFile(join(DATA_DIR, 'app.key'), testAppKey.toString('base64'));
  logger.info('ada@example.com');
  const [before, after] = lines.map(line => JSON.parse(line).msg);
  expect(before).toMatch(/^a\*\*\*@e\*\*\*\.com#[0-9a-f]{12}$/);
  expect(before).not.toBe(masked);
  expect(after).toBe(masked);
});
