import { EventEmitter } from 'node:events';
import { Logger as GraphileLogger, runOnce, type TaskList, type WorkerEvents } from 'graphile-worker';
import pg from 'pg';
import { buildMailer } from '../../server/delivery/mail/mailer.ts';
import { buildUnsubscribeTokens } from '../../server/domain/notifications/unsubscribe-token.ts';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { buildAddressTokens } from '../../server/domain/users/change-address.ts';
import { takeLease } from '../../server/jobs/lease.ts';
import { buildTasks } from '../../server/jobs/tasks.ts';
import { queryOn } from '../../server/jobs/worker-connections.ts';
import { buildAddressGuard } from '../../server/outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../server/outgoing/outgoing-request.ts';
import type { TestServer } from './server.ts';

export interface FailedJob {
  task: string;
  message: string;
}

/**
 * Runs the jobs of one test server when a test calls `run`. All calls share the resources of one simulated worker
 * process.
 */
interface JobRunner {
  run(): Promise<FailedJob[]>;
}

const runners = new WeakMap<TestServer, Promise<JobRunner>>();

/**
 * Runs all due jobs, and the jobs that these jobs add, one after the other. A failed job waits for its scheduled retry.
 * Returns the failed jobs. All calls for one server share the resources of one simulated worker process.
 */
export async function runJobs(server: TestServer): Promise<FailedJob[]> {
  let runner = runners.get(server);
  if (!runner) {
    runner = buildRunner(server);
    runners.set(server, runner);
  }
  return (await runner).run();
}

export async function makeJobsDue({ sql }: Pick<TestServer, 'sql'>) {
  await sql('update graphile_worker._private_jobs set run_at = now() where run_at > now()');
}

/** Returns the jobs in the queue, each with the name of its task. */
export async function waitingJobs({ sql }: Pick<TestServer, 'sql'>) {
  return sql<{ task: string; payload: unknown; run_at: string; attempts: number }>(
    `select t.identifier as task, j.payload, j.run_at, j.attempts
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id order by j.id`,
  );
}

async function buildRunner(server: TestServer): Promise<JobRunner> {
  const { appKey, ...dependencies } = server.dependencies;
  const { config } = dependencies;
  const pool = new pg.Pool({ connectionString: server.url, max: 5 });
  // Ignores the errors of broken connections, because the test may drop the database before the pool has closed its
  // last connection.
  pool.on('error', () => {});
  pool.on('connect', client => client.on('error', () => {}));
  const lease = await takeLease({ connectionString: server.url });
  const requests = buildOutgoingRequests({ guard: buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS) });
  const mailer = buildMailer(config);
  const stopping = new AbortController();
  const taskList = buildTasks({
    ...dependencies,
    secretBox: buildSecretBox(appKey),
    unsubscribeTokens: buildUnsubscribeTokens(appKey),
    addressTokens: buildAddressTokens(appKey),
    requests,
    mailer,
    queue: queryOn(pool),
    locks: lease,
    stopping: stopping.signal,
  });
  server.beforeClose(async () => {
    stopping.abort();
    mailer?.close();
    requests.close();
    await lease.release();
    await pool.end();
  });
  return { run: () => runOnPool(pool, taskList) };
}

async function runOnPool(pgPool: pg.Pool, taskList: TaskList): Promise<FailedJob[]> {
  const events: WorkerEvents = new EventEmitter();
  const failed: FailedJob[] = [];
  events.on('job:error', ({ job, error }) => {
    failed.push({ task: job.task_identifier, message: (error as Error).message });
  });
  for (;;) {
    const { due, ending } = await countJobs(pgPool);
    if (due + ending === 0) return failed;
    // If no job is due, the loop only waits for jobs that are ending. Graphile Worker marks a job as finished shortly
    // after the job's run, and until then the job blocks its queue.
    if (due === 0) continue;
    await runOnce({
      pgPool,
      taskList,
      events,
      concurrency: 1,
      noHandleSignals: true,
      logger: new GraphileLogger(() => () => {}),
    });
  }
}

async function countJobs(pgPool: pg.Pool): Promise<{ due: number; ending: number }> {
  const { rows } = await pgPool.query(
    `select count(*) filter (where is_available and run_at <= now())::int as due,
      count(*) filter (where locked_at is not null)::int as ending
    from graphile_worker._private_jobs`,
  );
  return rows[0];
}
