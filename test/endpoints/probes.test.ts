import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/database.ts';
import { coreStream } from '../../server/database/migration-files.ts';
import { migrate } from '../../server/database/migrator.ts';
import { testClock } from '../helpers/clock.ts';
import { createBareDatabase, type TestDatabase } from '../helpers/database.ts';
import { startProxy } from '../helpers/proxy.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest, type TestServer } from '../helpers/server.ts';
import { logStatements } from '../helpers/statement-log.ts';
import { eventually } from '../helpers/webhooks.ts';

const now = '2026-03-14T09:00:00.000Z';
const clock = testClock(now);

const server = await startServerForFile({ clock });
beforeEach(async () => {
  clock.set(now);
  await beat(now);
  server.auditLines.length = 0;
});

const beat = (at: string) =>
  server.sql(
    `insert into heartbeats (name, recorded_at) values ('cron', $1)
    on conflict (name) do update set recorded_at = excluded.recorded_at`,
    [at],
  );

const ready = (on: TestServer = server) => request(on, 'GET /ready');

function expectReady(answer: Answer) {
  expect(answer).toMatchObject({ status: 200, text: '{"ok":true}' });
  expect(answer.headers.get('cache-control')).toBe('no-store');
}

/** Expects a 503 response that does not name the failed checks, and an audit entry that lists the failed checks. */
function expectNotReady(answer: Answer, failed: string[], on: TestServer = server) {
  expect(answer).toMatchObject({ status: 503, text: '{"ok":false}' });
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const events = on.auditLines.map(line => JSON.parse(line)).filter(line => line.event === 'readiness.not_ready');
  expect(events.at(-1)).toMatchObject({ failed });
}

/** The time limit for the database queries of normal requests. The queries of /ready have a shorter time limit. */
const statementTimeoutMs = 10_000;

/** Starts a server that connects to the database at the URL. */
async function serve(url: string): Promise<TestServer> {
  const logger = pino({ level: 'silent' });
  const database = await openDatabase({ url, poolSize: 4, connectTimeoutMs: 500, statementTimeoutMs, logger });
  onTestFinished(() => database.close());
  const on = { url, database } as TestDatabase;
  return startServerForTest({ on, clock });
}

/**
 * Repeats a request until the right response comes within the time limit. On a slow machine, only some responses are
 * late. If the server itself waits too long, all responses are late, and the test fails.
 */
function expectInTime(limitMs: number, ask: () => Promise<Answer>, check: (answer: Answer) => void) {
  return eventually(async () => {
    const start = performance.now();
    check(await ask());
    expect(performance.now() - start).toBeLessThan(limitMs);
  });
}

describe('GET /health', () => {
  test('/health answers 200 and {"ok":true} without authentication', async () => {
    const answer = await request(server, 'GET /health');
    expect(answer).toMatchObject({ status: 200, text: '{"ok":true}' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect((await request(server, 'GET /health', { token: 'nonsense' })).status).toBe(200);
    expect((await request(server, 'HEAD /health')).status).toBe(200);
  });

  test("after the server's database was dropped, /health answers 200 and /ready answers 503", async () => {
    const { url, drop } = await createBareDatabase();
    const lost = await serve(url);
    await drop();
    expect(await request(lost, 'GET /health')).toMatchObject({ status: 200, text: '{"ok":true}' });
    expectNotReady(await ready(lost), ['database', 'migrations', 'cron'], lost);
  });

  test('/health sends no database query, and answers 200 while the database does not respond or closes its connections', async () => {
    const proxy = await startProxy(server.url);
    const lost = await serve(proxy.url);
    onTestFinished(() => proxy.close());
    await ready(lost);
    for (const harm of [() => proxy.silence(), () => proxy.sever()]) {
      harm();
      const { result, statements } = await logStatements(() => request(lost, 'GET /health'));
      expect([result.status, statements]).toEqual([200, []]);
    }
  });
});

describe('GET /ready', () => {
  test('/ready answers 200 if the database responds, no migration is pending, and the last heartbeat of the scheduled jobs is recent', async () => {
    expectReady(await ready());
    expect(server.auditLines.join('')).not.toContain('readiness.not_ready');
    expect((await request(server, 'HEAD /ready')).status).toBe(200);
  });

  test('/ready answers 503 before the first heartbeat of the scheduled jobs', async () => {
    await server.sql('delete from heartbeats');
    expectNotReady(await ready(), ['cron']);
    expect((await request(server, 'HEAD /ready')).status).toBe(503);
  });

  test('/ready by default accepts a heartbeat of the scheduled jobs that is 120 minutes old, and answers 503 if the heartbeat is one millisecond older', async () => {
    clock.set('2026-03-14T11:00:00.000Z');
    expectReady(await ready());
    clock.set('2026-03-14T11:00:00.001Z');
    expectNotReady(await ready(), ['cron']);
    await beat('2026-03-14T11:00:00.000Z');
    expectReady(await ready());
  });

  test('/ready answers 503 if the last heartbeat of the scheduled jobs is older than READINESS_CRON_MAX_AGE_MINUTES', async () => {
    const impatient = await startServerForTest({
      on: server,
      clock,
      environment: { READINESS_CRON_MAX_AGE_MINUTES: '5' },
    });
    clock.set('2026-03-14T09:05:00.000Z');
    expectReady(await ready(impatient));
    clock.set('2026-03-14T09:05:00.001Z');
    expectNotReady(await ready(impatient), ['cron'], impatient);
    expectReady(await ready());
  });

  test('/ready answers 503 while a migration is pending', async () => {
    const [row] = await server.sql<{ name: string; checksum: string }>(
      `delete from schema_migrations where name = '0001_baseline.sql' returning *`,
    );
    expectNotReady(await ready(), ['migrations']);
    await server.sql(`insert into schema_migrations (stream, name, checksum) values ('core', $1, $2)`, [
      row?.name,
      row?.checksum,
    ]);
    expectReady(await ready());
  });

  test('if checks of /ready fail, the audit log names all failed checks, but the response does not', async () => {
    await server.sql('delete from heartbeats');
    const name = '0001_baseline.sql';
    await server.sql('update schema_migrations set stream = $2 where name = $1', [name, 'elsewhere']);
    expectNotReady(await ready(), ['migrations', 'cron']);
    await server.sql('update schema_migrations set stream = $2 where name = $1', [name, 'core']);
  });

  test('/ready answers 503, not 500, if the database has no tables', async () => {
    const { url, drop } = await createBareDatabase();
    onTestFinished(drop);
    const bare = await serve(url);
    expectNotReady(await ready(bare), ['migrations', 'cron'], bare);
  });

  test('/ready answers 503 while the database refuses connections, and 200 after the database accepts them again', async () => {
    const proxy = await startProxy(server.url);
    onTestFinished(() => proxy.close());
    const lost = await serve(proxy.url);
    expectReady(await ready(lost));
    proxy.sever();
    expectNotReady(await ready(lost), ['database', 'migrations', 'cron'], lost);
    proxy.restore();
    expectReady(await ready(lost));
  });

  test('/ready answers 503 within 2.5 seconds if the database does not respond', async () => {
    const proxy = await startProxy(server.url);
    onTestFinished(() => proxy.close());
    const lost = await serve(proxy.url);
    expectReady(await ready(lost));
    proxy.silence();
    const check = (answer: Answer) => expectNotReady(answer, ['database', 'migrations', 'cron'], lost);
    // /ready waits for the rate limit counter and then for its checks. These two steps together must end within 2.5
    // seconds.
    await expectInTime(2_500, () => ready(lost), check);
    proxy.resume();
  });

  test('/ready answers 503 after an extension gets a new migration, until the migration is applied', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'idea-board-test-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const stream = { name: 'reports', directory };
    const extended = await startServerForTest({
      on: server,
      clock,
      dependencies: { extensions: [{ name: 'reports', migrations: stream }] },
    });
    expectReady(await ready(extended));
    await writeFile(join(directory, '0001_reports.sql'), 'create table reports (id bigint);');
    expectNotReady(await ready(extended), ['migrations'], extended);
    await migrate(server.url, [coreStream, stream]);
    expectReady(await ready(extended));
  });

  test('/ready answers 200 within 2.5 seconds while other requests use all connections of the connection pool', async () => {
    const busy = await serve(server.url);
    const holders = await Promise.all([...Array(4)].map(() => busy.database.pool.connect()));
    await expectInTime(2_500, () => ready(busy), expectReady);
    for (const holder of holders) holder.release();
  });

  test.each([
    ['schema_migrations', 'migrations'],
    ['heartbeats', 'cron'],
  ])(
    'while the table %s is locked, /ready answers within 2.5 seconds, and only the check %s fails',
    async (table, check) => {
      const holder = await server.database.pool.connect();
      await holder.query('begin');
      await holder.query(`lock table ${table}`);
      await expectInTime(
        2_500,
        () => ready(),
        answer => expectNotReady(answer, [check]),
      );
      await holder.query('rollback');
      holder.release();
    },
  );

  test('50 concurrent requests to /ready share the results of their checks and cause fewer than 50 audit entries', async () => {
    const answers = await Promise.all([...Array(50)].map(() => ready()));
    for (const answer of answers) expectReady(answer);
    await server.sql('delete from heartbeats');
    const refused = await Promise.all([...Array(50)].map(() => ready()));
    for (const answer of refused) expectNotReady(answer, ['cron']);
    expect(server.auditLines.length).toBeLessThan(50);
  });

  test('a request to /ready changes no database table except rate_limits', async () => {
    const counts = async () => {
      const tables = await server.sql<{ name: string }>(
        `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
      );
      return Promise.all(
        tables
          .filter(({ name }) => name !== 'rate_limits')
          .map(async ({ name }) => server.sql(`select '${name}' as name, md5(string_agg(t::text, '')) from ${name} t`)),
      );
    };
    const before = await counts();
    await ready();
    expect(await counts()).toEqual(before);
  });
});
