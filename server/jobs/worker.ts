import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger as GraphileLogger, type Runner, run, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type { Logger } from 'pino';
import type { ServerDependencies } from '../dependencies.ts';
import { buildAddressGuard } from '../events/address-guard.ts';
import { buildOutgoingRequests, type OutgoingRequests } from '../events/outgoing-request.ts';
import { buildMailer, type Mailer } from '../events/people/mailer.ts';
import { buildUnsubscribeTokens } from '../events/people/unsubscribe-token.ts';
import { buildSecretBox } from '../events/secret-box.ts';
import { type Lease, takeLease } from './lease.ts';
import { buildTasks, crontab } from './tasks.ts';
import { queryOn, WorkerConnections } from './worker-connections.ts';

export interface Worker {
  /** Lets running jobs finish, and then resolves. */
  stop(): Promise<void>;
}

export interface WorkerOptions extends ServerDependencies {
  url: string;
  /** What posts to addresses that others chose; by default with the guard that the settings ask for. */
  requests?: OutgoingRequests;
}

/** For what the worker does beside its jobs. Connections are made when they are needed, which few are at a time. */
const spareConnections = 4;
const pollIntervalMs = 2_000;
const restartDelayMs = 1_000;
const recoveryIntervalMs = 2_000;
/** What a stop waits for jobs before it cuts them off, so that it ends before the process is killed for it. */
const stopPatienceMs = 5_000;
/** A job that was fetched ahead and found no hand free goes back for other processes to take. */
const fetchedAheadMs = 1_000;

/**
 * Starts the worker of jobs and cron. Any number of processes share the work. It gives up after too many errors in a
 * row, such as when PostgreSQL was away for long: then it is started again, until it is stopped.
 */
export async function startWorker({ url, requests, ...server }: WorkerOptions): Promise<Worker> {
  const { config, logger } = server;
  const pool = new WorkerConnections({
    connectionString: url,
    application_name: 'idea-board worker',
    max: config.WORKER_CONCURRENCY + spareConnections,
    connectionTimeoutMillis: config.DATABASE_CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // The work of a job is done again when its end was lost; see TaskDependencies.
    onConnect: async client => {
      await client.query('set synchronous_commit = off');
    },
  });
  const stopping = new AbortController();
  const onLost = (err: Error) => {
    if (!stopping.signal.aborted) logger.warn({ err }, 'the worker lost a connection to PostgreSQL');
  };
  pool.on('error', onLost);
  pool.on('connect', client => client.on('error', onLost));
  const outgoing = requests ?? buildOutgoingRequests({ guard: buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS) });
  const mailer = buildMailer(config);
  const start = () => startRunner({ ...server, url, pool, requests: outgoing, mailer, stopping: stopping.signal });

  let runner: Runner | undefined;
  try {
    runner = await start();
    // A heartbeat at the start, so that readiness does not wait for the first full minute.
    await runner.addJob('heartbeat', {}, { jobKey: 'heartbeat at start' });
  } catch (error) {
    stopping.abort();
    await runner?.stop().catch(() => {});
    await pool.end();
    throw error;
  }
  const ended = superviseRunner();

  async function superviseRunner() {
    while (!stopping.signal.aborted) {
      try {
        runner ??= await start();
        await runner.promise;
      } catch (error) {
        logger.error({ err: error }, 'the worker failed');
      }
      runner = undefined;
      await delay(restartDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  return {
    async stop() {
      stopping.abort();
      await runner?.stop().catch(error => logger.warn({ err: error }, 'the worker did not stop cleanly'));
      await ended;
      await pool.end();
      if (!requests) outgoing.close();
      mailer?.close();
    },
  };
}

interface RunnerOptions extends ServerDependencies {
  url: string;
  pool: WorkerConnections;
  requests: OutgoingRequests;
  mailer: Mailer | undefined;
  stopping: AbortSignal;
}

/** Starts what runs jobs until it fails, together with the lease that shows others that it lives. */
async function startRunner({ url, pool, appKey, ...deps }: RunnerOptions): Promise<Runner> {
  const { config, logger } = deps;
  const lease = await takeLease(url, config.DATABASE_CONNECT_TIMEOUT_MS);
  const events: WorkerEvents = new EventEmitter();
  // No job is fetched before others can see whose it is.
  events.once('pool:create', ({ workerPool }) => pool.waitFor(lease.holdPool(workerPool.id)));
  followQueues(events);
  const queue = queryOn(pool);
  let runner: Runner;
  try {
    runner = await run({
      pgPool: pool,
      events,
      taskList: buildTasks({
        ...deps,
        secretBox: buildSecretBox(appKey),
        unsubscribeTokens: buildUnsubscribeTokens(appKey),
        queue,
        locks: lease,
      }),
      crontab,
      // The server stops it in its turn.
      noHandleSignals: true,
      logger: graphileLogger(logger),
      preset: {
        worker: {
          concurrentJobs: config.WORKER_CONCURRENCY,
          pollInterval: pollIntervalMs,
          gracefulShutdownAbortTimeout: stopPatienceMs,
          // Jobs are fetched, completed and failed several at a time.
          localQueue: { size: config.WORKER_CONCURRENCY, ttl: fetchedAheadMs },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  } catch (error) {
    await lease.release();
    throw error;
  }
  recoverJobs(lease, runner, logger);
  return runner;
}

/** Frees the jobs of dead processes now and again while the runner runs, and ends it when its own lease is lost. */
function recoverJobs(lease: Lease, runner: Runner, logger: Logger) {
  let isOver = false;
  const recover = async () => {
    if (isOver) return;
    try {
      const dead = await lease.recoverJobs();
      if (dead.length > 0) logger.warn({ workers: dead }, 'freed the jobs of workers that died');
    } catch (error) {
      if (!isOver) logger.warn({ err: error }, 'the jobs of dead workers could not be looked for');
    }
    if (!isOver) setTimeout(recover, recoveryIntervalMs * (0.75 + Math.random() / 2)).unref();
  };
  void recover();
  lease.lost.then(error => {
    if (isOver) return;
    logger.warn({ err: error }, 'the worker lost its lease');
    // Others take its jobs for those of a dead process now.
    runner.stop().catch(() => {});
  });
  runner.promise
    .catch(() => {})
    .finally(() => {
      isOver = true;
      return lease.release();
    });
}

/** A moment in which the end of a job is surely written, and one for when PostgreSQL is busy. */
const queueDelaysMs = [5, 50];

/**
 * Looks for the next job of a named queue when one of its jobs has ended: nothing else tells that the queue is free,
 * and the next look on its own is seconds away.
 */
function followQueues(events: WorkerEvents) {
  let pool: WorkerPool | undefined;
  let isPlanned = false;
  events.on('pool:create', ({ workerPool }) => {
    pool = workerPool;
  });
  events.on('pool:release', () => {
    pool = undefined;
  });
  events.on('job:complete', ({ job }) => {
    if (job.job_queue_id === null || isPlanned) return;
    isPlanned = true;
    for (const [index, ms] of queueDelaysMs.entries()) {
      setTimeout(() => {
        if (index === 0) isPlanned = false;
        if (pool && !pool.abortSignal.aborted) pool.nudge(1);
      }, ms).unref();
    }
  });
}

function graphileLogger(logger: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message) => {
    const pinoLevel = level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug';
    logger[pinoLevel]({ worker: message }, 'worker');
  });
}
