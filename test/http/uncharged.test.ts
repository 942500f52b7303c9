import { pino } from 'pino';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/database.ts';
import { testClock } from '../helpers/clock.ts';
import { connect, createBareDatabase, type TestDatabase } from '../helpers/database.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServer, startServerForTest } from '../helpers/server.ts';

const start = '2026-03-14T09:26:15.000Z';
const clock = testClock(start);
const limit = 3;

const server = await startServer({ clock, environment: { RATE_LIMIT_IP: String(limit), TRUST_PROXY: 'true' } });
const outside = await connect(server.url);
beforeEach(async () => {
  clock.set(start);
});
afterAll(async () => {
  await outside.end();
  await server.close();
});

/**
 * Locks the table of the rate limit counters. The lock ends when the test rolls back the transaction of the connection
 * `outside`.
 */
async function lockCounters() {
  await outside.query('begin');
  await outside.query('lock table rate_limits');
}

const ask = (line: string, address: string, on = server) =>
  request(on, line, { headers: { 'x-forwarded-for': address } });
const document = (n: number) => ask('GET /api/v1/openapi.json', `203.0.113.${n}`);

function expectUnavailable(answer: Answer) {
  expect([answer.status, answer.key]).toEqual([503, 'service_unavailable']);
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

const many = (ask: (n: number) => Promise<Answer>) => Promise.all(Array.from({ length: 12 }, (_, n) => ask(n + 1)));

test('while the rate limit counters are locked, all IP addresses together can send only as many requests a minute as usually one IP address can', async () => {
  await lockCounters();
  const answers = await many(document);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(limit);
  for (const answer of answers.filter(({ status }) => status !== 200)) expectUnavailable(answer);
  // While the table is locked, the server accepts only `limit` requests a minute, for all paths and IP addresses
  // together.
  expectUnavailable(await ask('GET /no/such/path', '203.0.113.50'));
  clock.advance(60_000);
  const next = await many(n => ask('GET /no/such/path', `203.0.113.${n}`));
  expect(next.filter(({ status }) => status === 404)).toHaveLength(limit);
  await outside.query('rollback');
  // The table is no longer locked, so the server again counts the requests of each IP address separately.
  for (let n = 0; n < limit; n++) expect((await ask('GET /api/v1/openapi.json', '198.51.100.1')).status).toBe(200);
  expect((await ask('GET /api/v1/openapi.json', '198.51.100.1')).status).toBe(429);
  expect((await ask('GET /api/v1/openapi.json', '198.51.100.2')).status).toBe(200);
});

test('/health and /ready answer as usual while the rate limit counters are locked in the database', async () => {
  await server.sql(
    `insert into heartbeats (name, recorded_at) values ('cron', $1)
    on conflict (name) do update set recorded_at = excluded.recorded_at`,
    [start],
  );
  await lockCounters();
  const documents = await many(document);
  expect(documents.some(({ status }) => status === 503)).toBe(true);
  for (const answer of await many(() => ask('GET /ready', '203.0.113.9'))) {
    expect([answer.status, answer.text]).toEqual([200, '{"ok":true}']);
  }
  for (const answer of await many(() => ask('GET /health', '203.0.113.9'))) expect(answer.status).toBe(200);
  await outside.query('rollback');
});

test('if a rate limit counter is locked, a request without a token waits longer for the lock than a readiness probe and is still counted', async () => {
  await lockCounters();
  const counted = ask('GET /api/v1/openapi.json', '203.0.113.77');
  // The readiness probe stops waiting for the lock earlier than the other request. So when the probe is answered, the
  // other request still waits, and the test then ends the lock.
  await ask('GET /ready', '203.0.113.78');
  await outside.query('rollback');
  expect((await counted).status).toBe(200);
  const [row] = await server.sql<{ count: number }>(`select count from rate_limits where key = 'ip:203.0.113.77'`);
  expect(row?.count).toBe(1);
});

test('while the database is unavailable, every request to /ready gets 503 and {"ok":false}, and /health answers 200', async () => {
  const { url, drop } = await createBareDatabase();
  const database = await openDatabase({
    url,
    poolSize: 4,
    connectTimeoutMs: 500,
    statementTimeoutMs: 10_000,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => database.close());
  await drop();
  const lost = await startServerForTest({
    on: { url, database } as TestDatabase,
    clock,
    environment: { RATE_LIMIT_IP: String(limit) },
  });
  const pages = await many(() => request(lost, 'GET /api/v1/openapi.json'));
  expect(pages.filter(({ status }) => status === 200)).toHaveLength(limit);
  for (const answer of pages.filter(({ status }) => status !== 200)) expectUnavailable(answer);
  for (const answer of await many(() => request(lost, 'GET /ready'))) {
    expect([answer.status, answer.text]).toEqual([503, '{"ok":false}']);
  }
  expect(await request(lost, 'GET /health')).toMatchObject({ status: 200, text: '{"ok":true}' });
});
