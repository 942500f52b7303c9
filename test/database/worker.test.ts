import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { WorkerConnections } from '../../server/jobs/worker-connections.ts';
import { connect, createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { startProxy } from '../helpers/proxy.ts';
import { startWorkerForTest, workerConfig } from '../helpers/worker.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  return () => db.drop();
});

async function start(url = db.url) {
  const environment = { LOG_LEVEL: 'warn', DATABASE_CONNECT_TIMEOUT_MS: '1000' };
  const timing = { pollIntervalMs: 200, restartDelayMs: 100 };
  const worker = await startWorkerForTest({ url, database: db.database }, { environment, timing });
  return { worker, lines: worker.logLines };
}

/** The times in milliseconds: how long a test waits for a result, and how often it checks for the result. */
const patience = { timeout: 30_000, interval: 20 };

const backends = `from pg_stat_activity where datname = current_database() and application_name = 'idea-board worker'`;

/** Waits until the worker has recorded a heartbeat. */
async function heartbeat() {
  await vi.waitFor(
    async () => expect(await db.sql(`select from heartbeats where name = 'cron'`)).toHaveLength(1),
    patience,
  );
}

/** Adds a heartbeat job, as cron does every minute, and waits until the worker has run this job. */
async function beat() {
  await db.sql('delete from heartbeats');
  await db.sql(`select graphile_worker.add_job('heartbeat')`);
  await heartbeat();
}

test('a worker records a heartbeat when it starts, and closes all its connections when it stops', async () => {
  const { worker, lines } = await start();
  await heartbeat();
  expect((await db.sql(`select ${backends}`)).length).toBeGreaterThan(0);
  await worker.stop();
  await vi.waitFor(async () => expect(await db.sql(`select ${backends}`)).toEqual([]), patience);
  expect(await db.sql('select from graphile_worker._private_jobs where locked_at is not null')).toEqual([]);
  expect(lines).toEqual([]);
});

test('a heartbeat of the worker never replaces a later stored time with an earlier time', async () => {
  const { worker } = await start();
  onTestFinished(() => worker.stop());
  await beat();
  await db.sql(`update heartbeats set recorded_at = '2100-01-01'`);
  await db.sql(`select graphile_worker.add_job('heartbeat')`);
  await vi.waitFor(async () => expect(await db.sql('select from graphile_worker._private_jobs')).toEqual([]), patience);
  const [row] = await db.sql('select recorded_at from heartbeats');
  expect(row).toEqual({ recorded_at: '2100-01-01 00:00:00+00' });
});

test('if a worker releases the same database connection twice, its connection pool ignores the second release', async () => {
  const connections = new WorkerConnections(db.url, workerConfig(), () => {});
  onTestFinished(() => connections.close());
  await new Promise<void>((resolve, reject) => {
    connections.connect((error: Error | undefined, _client: unknown, release: () => void) => {
      release();
      expect(release).not.toThrow();
      if (error) reject(error);
      else resolve();
    });
  });
  expect((await connections.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

test('a worker runs the next job after PostgreSQL has ended its connections', async () => {
  const { worker, lines } = await start();
  onTestFinished(() => worker.stop());
  await beat();
  const ended = await db.sql(`select pg_terminate_backend(pid) ${backends}`);
  expect(ended.length).toBeGreaterThan(0);
  await beat();
  // Accepts one of two messages. Either the connection pool or a running SQL statement is the first to notice the lost
  // connection.
  expect(lines.join('')).toMatch(/lost a connection|terminating connection/);
});

test('a worker continues if PostgreSQL ends its connection after a job ran and before the job is removed from the queue', async () => {
  const { worker, lines } = await start();
  onTestFinished(() => worker.stop());
  await beat();
  const outside = await connect(db.url);
  const watcher = await connect(db.url);
  onTestFinished(async () => {
    await outside.end();
    await watcher.end();
  });
  const waitingFor = (statement: string) =>
    vi.waitFor(async () => {
      const { rows } = await watcher.query(`select ${backends} and wait_event_type = 'Lock' and query ~ $1`, [
        statement,
      ]);
      // At the start of a minute, a cron job may also wait for the lock, so the query may find several connections.
      expect(rows.length).toBeGreaterThan(0);
    }, patience);

  await outside.query('begin');
  await outside.query('lock table heartbeats');
  await db.sql(`select graphile_worker.add_job('heartbeat')`);
  await waitingFor('insert into "heartbeats"');
  const jobs = await connect(db.url);
  onTestFinished(() => jobs.end());
  await jobs.query('begin');
  await jobs.query('lock table graphile_worker._private_jobs in share mode');
  await outside.query('commit');
  await waitingFor('delete from');
  await watcher.query(`select pg_terminate_backend(pid) ${backends}`);
  await jobs.query('rollback');
  await vi.waitFor(() => expect(lines.join('')).toContain('Failed to complete jobs'), patience);
  await beat();
});

test('a worker that has lost its connections to PostgreSQL runs jobs again when it can reach PostgreSQL again', async () => {
  const proxy = await startProxy(db.url);
  const { worker, lines } = await start(proxy.url);
  onTestFinished(async () => {
    await worker.stop();
    await proxy.close();
  });
  await beat();
  proxy.sever();
  // Waits until the worker has tried several times to connect again.
  const tries = () => lines.filter(line => line.includes('the worker failed')).length;
  await vi.waitFor(() => expect(tries()).toBeGreaterThan(2), patience);
  proxy.restore();
  await beat();
});

test('a worker stops without an error even while it cannot reach PostgreSQL', async () => {
  const proxy = await startProxy(db.url);
  const { worker } = await start(proxy.url);
  await beat();
  proxy.sever();
  await expect(worker.stop()).resolves.toBeUndefined();
  await proxy.close();
});

test('the cron job clear_expired deletes rate limit counters only if they have expired', async () => {
  const { worker } = await start();
  onTestFinished(() => worker.stop());
  await db.sql(`insert into rate_limits (key, window_started_at, expires_at, count) values
    ('ip:expired', now(), now() - interval '1 second', 1), ('ip:kept', now(), now() + interval '1 minute', 1)`);
  await db.sql(`select graphile_worker.add_job('clear_expired')`);
  await vi.waitFor(async () => {
    expect(await db.sql(`select key from rate_limits where key like 'ip:%'`)).toEqual([{ key: 'ip:kept' }]);
  }, patience);
});
