import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { reportFatal } from '../../server/observability/report-fatal.ts';
import { openDependencies } from '../../server/open-dependencies.ts';
import { cliOn } from '../cli/run-cli.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest, testAppKey } from '../helpers/server.ts';
import { eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

interface Report {
  path: string;
  /** The whole text of the Sentry envelope. */
  envelope: string;
  event: {
    exception: { values: { type: string; value: string; stacktrace?: { frames: unknown[] } }[] };
    tags: Record<string, string>;
    environment: string;
    release: string;
    request?: unknown;
    user?: unknown;
  };
}

/** Starts a server that collects the reports that Sentry would receive. */
async function startCollector(): Promise<{ dsn: string; reports: Report[] }> {
  const reports: Report[] = [];
  const server = createServer(async (received, response) => {
    const isPacked = received.headers['content-encoding'] === 'gzip';
    const envelope = await text(isPacked ? received.pipe(createGunzip()) : received);
    const [, header = '{}', event = '{}'] = envelope.split('\n');
    if (JSON.parse(header).type === 'event') {
      reports.push({ path: received.url ?? '', envelope, event: JSON.parse(event) });
    }
    response.end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { dsn: `http://public@127.0.0.1:${(server.address() as AddressInfo).port}/42`, reports };
}

const notes = { name: 'notes', migrations: undefined, settings: { API_KEY: 'key-of-an-extension-1' } };

/** Builds the error reporter of a server that has an extension. */
async function openReporter(environment: Record<string, string>) {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const config = loadConfig({ APP_KEY: testAppKey.toString('base64'), ...environment });
  const logger = buildLogger(config, { write() {} });
  const { server, close } = await openDependencies(database.url, config, logger, [notes]);
  onTestFinished(close);
  return server.reporter;
}

test("the server reports an internal error during a request to Sentry with the stack and the route, but without the request's input", async () => {
  const { dsn, reports } = await startCollector();
  const reporter = await openReporter({ SENTRY_DSN: dsn, SENTRY_ENVIRONMENT: 'staging' });
  const server = await startServerForTest({ dependencies: { reporter } });
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'write');
  const ideaId = await insertIdea(server, world);
  await server.sql('alter table comments rename to comments_away');
  const answer = await request(server, `POST /api/v1/ideas/${ideaId}/comments`, {
    token,
    json: { body: 'written by ada.marker@example.com' },
  });
  expect(answer.status).toBe(500);
  await eventually(() => expect(reports).toHaveLength(1));

  const [report] = reports;
  expect(report?.path).toMatch(/^\/api\/42\/envelope\/\?.*sentry_key=public/);
  const [exception] = report?.event.exception.values.slice(-1) ?? [];
  expect(exception?.value).toContain('relation "comments" does not exist');
  expect(exception?.stacktrace?.frames.length).toBeGreaterThan(1);
  expect(report?.event).toMatchObject({
    environment: 'staging',
    release: expect.stringMatching(/^idea-board@\d+\.\d+\.\d+$/),
    tags: {
      method: 'POST',
      route: '/api/v1/ideas/:id/comments',
      request_id: answer.headers.get('x-request-id'),
    },
  });
  for (const secret of [token, 'ada.marker@example.com', 'written by']) expect(report?.envelope).not.toContain(secret);
  expect(report?.event.request ?? report?.event.user).toBeUndefined();
});

test('a report to Sentry contains no email address, token or password from the error or its causes', async () => {
  const { dsn, reports } = await startCollector();
  const reporter = await openReporter({ SENTRY_DSN: dsn });
  const token = `ib_17_${'Z'.repeat(43)}`;
  const cause = new Error(
    'postgresql://ideas:marked-password@db/ideas refused ada.marker@example.com, key-of-an-extension-1',
  );
  reporter.report(new Error(`no mail to ada.marker@example.com with ${token}`, { cause }));
  await eventually(() => expect(reports).toHaveLength(1));
  const envelope = reports[0]?.envelope ?? '';
  expect(envelope).toMatch(/no mail to a\*\*\*@e\*\*\*\.com#[0-9a-f]{12} with ib_17_/);
  for (const secret of ['ada.marker', 'Z'.repeat(43), 'marked-password', 'key-of-an-extension'])
    expect(envelope).not.toContain(secret);
});

test('when a job fails its last attempt, the error is reported to Sentry with the name of the task', async () => {
  const { dsn, reports } = await startCollector();
  const reporter = await openReporter({ SENTRY_DSN: dsn });
  const server = await startServerForTest();
  await startWorkerForTest(server, { reporter });
  await server.sql(`select graphile_worker.add_job('deliver_webhooks', '{"nonsense": true}', max_attempts => 1)`);
  await eventually(() => expect(reports).toHaveLength(1));
  expect(reports[0]?.event.tags).toMatchObject({ task: 'deliver_webhooks' });
});

test('invalid requests and requests without a token are not reported to Sentry', async () => {
  const told: unknown[] = [];
  const reporter = { report: (error: unknown) => told.push(error), close: async () => {} };
  const server = await startServerForTest({ dependencies: { reporter } });
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'write');
  await request(server, 'POST /api/v1/ideas', { token, raw: '{', headers: { 'content-type': 'application/json' } });
  await request(server, 'GET /api/v1/ideas/1');
  expect(told).toEqual([]);
});

test('if an internal error ends a command of the command line, the error is reported to Sentry without secrets, but the refusal of a command is not', async () => {
  const { dsn, reports } = await startCollector();
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const cli = cliOn(database.url, { SENTRY_DSN: dsn });
  await database.sql('alter table accounts rename column deletion_scheduled_at to renamed');
  const failed = await cli.run('cleanup');
  expect([failed.exitCode, failed.stderr]).toEqual([1, expect.stringContaining('Internal error: ')]);
  await eventually(() => expect(reports).toHaveLength(1));
  expect(reports[0]?.event.tags).toEqual({ process: 'cli' });
  expect(reports[0]?.event.exception.values.at(-1)?.value).toContain('deletion_scheduled_at');
  const refused = await cli.run('board', 'list', '--account', 'nobody');
  expect(refused.exitCode).toBe(1);
  expect(reports).toHaveLength(1);
});

test('a server or a worker that cannot start because of an unexpected error reports the error to Sentry', async () => {
  const { dsn, reports } = await startCollector();
  await reportFatal(new Error('the start failed'), { SENTRY_DSN: dsn }, 'runServer');
  expect(reports.map(({ event }) => [event.exception.values[0]?.value, event.tags.process])).toEqual([
    ['the start failed', 'runServer'],
  ]);
});

test('if the same error occurs several times, each one is reported to Sentry', async () => {
  const { dsn, reports } = await startCollector();
  const reporter = await openReporter({ SENTRY_DSN: dsn });
  for (let n = 0; n < 3; n++) reporter.report(new Error('again'));
  await reporter.close();
  expect(reports).toHaveLength(3);
});

test('if 200 errors occur at the same time, the server reports at most 30 to Sentry, and an unreachable Sentry server causes no further error', async () => {
  const { dsn, reports } = await startCollector();
  const reporter = await openReporter({ SENTRY_DSN: dsn });
  for (let index = 0; index < 200; index++) reporter.report(new Error(`failure ${index}`));
  await reporter.close();
  expect(reports.length).toBeGreaterThan(0);
  expect(reports.length).toBeLessThanOrEqual(30);

  const deaf = await openReporter({ SENTRY_DSN: 'http://public@127.0.0.1:9/1' });
  deaf.report(new Error('nobody hears this'));
  await deaf.close();
});

test('without SENTRY_DSN, the server reports nothing to Sentry, and the error for an invalid SENTRY_DSN names this setting', async () => {
  const reporter = await openReporter({});
  reporter.report(new Error('unheard'));
  await reporter.close();
  expect(() => loadConfig({ SENTRY_DSN: 'https://no-key.example.com/1' })).toThrow(/SENTRY_DSN must be the DSN/);
});
