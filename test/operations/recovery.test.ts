import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/database.ts';
import { migrate } from '../../server/database/migrator.ts';
import { extensionOf } from '../extensions/with-extensions.ts';
import { readAudit } from '../helpers/audit.ts';
import { connect, type TestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startOwnPostgres } from '../helpers/own-postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServer, startServerForTest, type TestServer } from '../helpers/server.ts';
import { eventually } from '../helpers/webhooks.ts';
import { startTestWorker, startWorkerForTest } from '../helpers/worker.ts';

// These timeouts are short, because many tests wait until a timeout expires.
const timeoutMs = 800;
const workerSettings = {
  LOG_LEVEL: 'warn',
  DATABASE_CONNECT_TIMEOUT_MS: String(timeoutMs),
  DATABASE_STATEMENT_TIMEOUT_MS: String(timeoutMs),
};
/** The time limit for a recovery. It is long enough for a busy machine. */
const recoveryMs = 20_000;
const everyCheck = ['database', 'migrations', 'cron'];

/** A PostgreSQL for these tests only. One server and one worker run during all simulated failures. */
const postgres = await startOwnPostgres({ max_connections: '40' });
await migrate(postgres.url);
const db = await open(postgres.url);
const world = await createWorld(db);
const ideaId = await insertIdea(db, world);
const { token } = await issueToken(db, world, 'write');
const server = await startServer({ on: db });
const worker = await startTestWorker(db, { environment: workerSettings });
afterAll(async () => {
  await worker.stop();
  await server.close();
  await db.database.close();
  await postgres.close();
});

async function open(url: string): Promise<TestDatabase> {
  const logger = pino({ level: 'silent' });
  const timeouts = { connectTimeoutMs: timeoutMs, statementTimeoutMs: timeoutMs };
  const database = await openDatabase({ url, poolSize: 4, ...timeouts, logger });
  const sql: TestDatabase['sql'] = async (text, values = []) => (await database.pool.query(text, values)).rows;
  return { url, database, sql, drop: () => database.close() };
}

const read = (on = server) => request(on, `GET /api/v1/ideas/${ideaId}`, { token });
const vote = (value: string, on = server) =>
  request(on, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value } });
const create = (title: string, key?: string, on: Pick<TestServer, 'baseUrl'> = server) =>
  request(on, 'POST /api/v1/ideas', {
    token,
    json: { title, body: 'Stored or lost.' },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

function expectUnavailable(answer: Answer) {
  expect(answer).toMatchObject({ status: 503, key: 'service_unavailable' });
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(Object.keys(answer.body.error).sort()).toEqual(['key', 'message']);
}

async function expectAllUnavailable() {
  for (const answer of await Promise.all([read(), vote('up'), create('Into the void')])) expectUnavailable(answer);
}

async function expectNotReady(failed: string[]) {
  const probe = await request(server, 'GET /ready');
  expect(probe).toMatchObject({ status: 503, text: '{"ok":false}' });
  const entries = readAudit(server.auditLines).filter(({ event }) => event === 'readiness.not_ready');
  expect(entries.at(-1)).toMatchObject({ failed });
  expect((await request(server, 'GET /health')).status).toBe(200);
}

/**
 * Expects that the connection pool, the worker and cron work again. Expects that the failed requests have changed
 * nothing.
 */
async function expectRecovered() {
  await eventually(async () => expect((await request(server, 'GET /ready')).status).toBe(200), recoveryMs);
  // On a busy machine, the new connections of the pool may take longer than the time limit of a request.
  await eventually(async () => {
    const reads = await Promise.all(Array.from({ length: 8 }, () => read()));
    expect(reads.map(({ status }) => status)).toEqual(Array(8).fill(200));
  }, recoveryMs);
  expect(await vote('up')).toMatchObject({ status: 200, body: { up_count: 1, down_count: 0 } });
  expect(await vote('none')).toMatchObject({ status: 200, body: { up_count: 0, down_count: 0 } });
  expect((await create('Kept')).status).toBe(201);
  expect(await db.sql(`select from ideas where title = 'Into the void'`)).toEqual([]);
  const { pool } = db.database;
  // Waits, because a job may still use a connection for a moment.
  await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
  await expectBeat(db);
}

/** Changes the times of all heartbeats to a past time. Then waits until the worker has recorded a new heartbeat. */
async function expectBeat({ sql }: Pick<TestDatabase, 'sql'>) {
  await sql(`update heartbeats set recorded_at = now() - interval '1 day'`);
  await sql(`select graphile_worker.add_job('heartbeat')`);
  const isRecent = `select from heartbeats where recorded_at > now() - interval '1 hour'`;
  await eventually(async () => expect(await sql(isRecent)).toHaveLength(1), recoveryMs);
}

test.each(['fast', 'immediate'] as const)(
  'the server answers 503 while PostgreSQL is stopped in the shutdown mode %s, and recovers after PostgreSQL restarts',
  async how => {
    await postgres.stop(how);
    await expectAllUnavailable();
    await expectNotReady(everyCheck);
    await postgres.start();
    await expectRecovered();
  },
);

test('the readiness probe answers within 2.5 seconds and requests get 503 while PostgreSQL is paused, and the server recovers when PostgreSQL resumes', async () => {
  await read();
  await postgres.pause();
  onTestFinished(() => postgres.resume());
  // On a busy machine, a probe may sometimes take longer than 2.5 seconds, so the test repeats the probe.
  await eventually(async () => {
    const asked = performance.now();
    await expectNotReady(everyCheck);
    expect(performance.now() - asked).toBeLessThan(2_500);
  });
  await expectAllUnavailable();
  // Sends requests again, because new connections to PostgreSQL get no answer either.
  await expectAllUnavailable();
  await postgres.resume();
  await expectRecovered();
});

test('the server answers 503 while PostgreSQL shuts down and rejects new connections', async () => {
  const last = await connect(db.url);
  await postgres.signal('SIGTERM');
  await last.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'idea-board%'`);
  await eventually(async () => expect(await connect(db.url).catch(error => error.code)).toBe('57P03'));
  await expectAllUnavailable();
  await expectNotReady(everyCheck);
  await last.end();
  await postgres.stop();
  await postgres.start();
  await expectRecovered();
});

test('the server answers 503 while other clients use all connections of PostgreSQL', async () => {
  const first = await connect(db.url);
  const takers = [first];
  onTestFinished(async () => void (await Promise.all(takers.map(one => one.end()))));
  const takeAll = async () => {
    for (;;) {
      const code = await connect(db.url).then(
        client => void takers.push(client),
        error => error.code,
      );
      if (code) return expect(code).toBe('53300');
    }
  };
  await takeAll();
  // Ends the server's connections, and then opens connections until PostgreSQL has no free connection for the server.
  // The query finds a server connection by its name, which the connection gets only after authentication. So the test
  // may need several rounds.
  await eventually(async () => {
    const { rowCount } = await first.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'idea-board%'`,
    );
    await takeAll();
    expect(rowCount).toBe(0);
    expectUnavailable(await read());
  });
  await expectAllUnavailable();
  await expectNotReady(everyCheck);
  for (const taker of takers.splice(0)) await taker.end();
  await expectRecovered();
});

describe('a read-only PostgreSQL', () => {
  test('the server answers 503 while PostgreSQL is a standby, and recovers when PostgreSQL is a primary again', async () => {
    await postgres.stop();
    await postgres.start({ isStandby: true });
    await eventually(async () => expect((await connectAndEnd()).rows).toEqual([{ is_standby: true }]), recoveryMs);
    await expectAllUnavailable();
    await postgres.stop();
    await postgres.start();
    await expectRecovered();
  });

  test('the server closes its database connections if PostgreSQL becomes read-only, because new connections may reach a new primary server', async () => {
    await Promise.all([read(), read(), read()]);
    const admin = await connect(db.url);
    onTestFinished(() => admin.end());
    const backends = async () =>
      (await admin.query(`select pid from pg_stat_activity where application_name = 'idea-board'`)).rows.map(
        ({ pid }) => pid,
      );
    const before = await backends();
    await postgres.configure({ default_transaction_read_only: 'on' });
    await eventually(async () => expectUnavailable(await create('While writes are allowed')));
    for (let turn = 0; turn < 4; turn++) await expectAllUnavailable();
    await eventually(async () => expect((await backends()).filter(pid => before.includes(pid))).toEqual([]));
    await postgres.configure({});
    // Each PostgreSQL process applies the new setting only when it handles the reload signal. So the test repeats the
    // reads.
    await eventually(async () => {
      const reads = await Promise.all(Array.from({ length: 8 }, () => read()));
      expect(reads.map(({ status }) => status)).toEqual(Array(8).fill(200));
    });
    await expectRecovered();
  });
});

async function connectAndEnd() {
  const client = await connect(db.url);
  try {
    return await client.query('select pg_is_in_recovery() as is_standby');
  } finally {
    await client.end();
  }
}

test('a crash of PostgreSQL loses no acknowledged write, and a write that is retried with its Idempotency-Key takes effect only once', async () => {
  const acknowledged: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  async function write(writer: number) {
    for (let n = 0; !isOver; n++) {
      const title = `Idea ${n} of ${writer}`;
      for (;;) {
        const { status } = await create(title, `key-${writer}-${n}`);
        statuses.add(status);
        if (status === 201) break;
        await delay(20);
      }
      acknowledged.push(title);
    }
  }
  const writing = Promise.all(Array.from({ length: 6 }, (_, writer) => write(writer)));
  const more = (count: number) => {
    const wanted = acknowledged.length + count;
    return eventually(() => expect(acknowledged.length).toBeGreaterThan(wanted), recoveryMs);
  };
  await more(30);
  await postgres.stop('kill');
  await postgres.start();
  await more(30);
  isOver = true;
  await writing;
  const kept = await db.sql<{ title: string }>(`select title from ideas where title like 'Idea % of %'`);
  expect(kept.map(({ title }) => title).sort()).toEqual(acknowledged.sort());
  // The expected statuses are 201 (created), 503 (unavailable) and 409. A retry gets 409 while the first try with the
  // same idempotency key is still running.
  expect([...statuses].filter(status => ![201, 503, 409].includes(status))).toEqual([]);
  await expectRecovered();
});

test('a write gets 503 if the connection to PostgreSQL is lost during the commit, and a retry with the same Idempotency-Key changes nothing', async () => {
  const proxy = await startProxy(db.url);
  onTestFinished(() => proxy.close());
  const far = await open(proxy.url);
  onTestFinished(() => far.drop());
  const lost = await startServerForTest({ on: far });
  expect((await read(lost)).status).toBe(200);
  void proxy.loseAnswerTo('commit');
  expectUnavailable(await create('Committed', 'the-same-key', lost));
  expect(await db.sql(`select from ideas where title = 'Committed'`)).toHaveLength(1);
  const again = await create('Committed', 'the-same-key', lost);
  expect(again).toMatchObject({ status: 201, body: { title: 'Committed' } });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await db.sql(`select from ideas where title = 'Committed'`)).toHaveLength(1);
});

test("if a worker fetches a job and loses PostgreSQL's response, the worker fetches the job again within 20 seconds", async () => {
  await worker.stop();
  const proxy = await startProxy(db.url);
  onTestFinished(() => proxy.close());
  const other = await startWorkerForTest({ ...db, url: proxy.url }, { environment: workerSettings });
  await expectBeat(db);
  // The proxy loses a response to get_job, the statement that fetches a job for the worker.
  let isLost = false;
  void proxy.loseAnswerTo('get_job').then(() => {
    isLost = true;
  });
  // The proxy loses the response only to a fetch that begins from now on. An earlier fetch may still take the next job.
  // So the test adds new jobs until a response is lost.
  while (!isLost) await expectBeat(db);
  await eventually(() => expect(other.logLines.join('')).toContain('lost a connection'));
});

test("a worker that lost PostgreSQL's response to a job fetch restarts its job runner, even if a running job never ends", async () => {
  await worker.stop();
  const proxy = await startProxy(db.url);
  onTestFinished(() => proxy.close());
  const deaf = extensionOf({ name: 'deaf', tasks: { wait: () => new Promise(() => {}) } });
  const { logLines } = await startWorkerForTest(
    { ...db, url: proxy.url },
    { environment: workerSettings, extensions: [deaf], timing: { stopPatienceMs: 100, settlingMs: 100 } },
  );
  await db.sql(`select graphile_worker.add_job('ext:deaf:wait')`);
  const isRunning = `select from graphile_worker.jobs where task_identifier = 'ext:deaf:wait' and locked_by is not null`;
  await eventually(async () => expect(await db.sql(isRunning)).toHaveLength(1));
  let isLost = false;
  void proxy.loseAnswerTo('get_job').then(() => {
    isLost = true;
  });
  while (!isLost) await expectBeat(db);
  await eventually(() => expect(logLines.join('')).toContain('took too long to end'));
  await expectBeat(db);
});

test('a worker opens a new database connection if PostgreSQL no longer answers on the old connection', async () => {
  await worker.stop();
  const proxy = await startProxy(db.url);
  onTestFinished(() => proxy.close());
  const { stop } = await startWorkerForTest({ ...db, url: proxy.url }, { environment: workerSettings });
  await expectBeat(db);
  proxy.freezeConnections();
  await expectBeat(db);
  // A worker must also be able to stop while PostgreSQL does not answer on the worker's connections.
  proxy.freezeConnections();
  await stop();
});
