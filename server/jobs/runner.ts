import { EventEmitter } from 'node:events';
import { type Runner as GraphileRunner, run, type WorkerEvents } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Queryable } from '../database/database.ts';
import type { Mailer } from '../delivery/mail/mailer.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { buildUnsubscribeTokens } from '../domain/notifications/unsubscribe-token.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { buildAddressTokens } from '../domain/users/change-address.ts';
import { wakeOverdueLanes } from '../domain/webhooks/wake-lanes.ts';
import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { type Lease, takeLease } from './lease.ts';
import { countJobs, followQueues, logJobs } from './pool-events.ts';
import { buildPools, type JobPool } from './pools.ts';
import { buildCrontab, buildTasks } from './tasks.ts';
import { patienceOf, queryOn, WorkerConnections } from './worker-connections.ts';

/** What runs jobs from when PostgreSQL is there until it goes away. */
export interface Runner {
  /** Settles when it runs none any more; rejects when that was not asked for. */
  readonly ended: Promise<void>;
  /** Lets running jobs finish, while PostgreSQL is there to note it, and then resolves. */
  stop(): Promise<void>;
}

export interface RunnerOptions extends Omit<ServerDependencies, 'passwords'> {
  url: string;
  requests: OutgoingRequests;
  mailer: Mailer | undefined;
  stopping: AbortSignal;
  timing: RunnerTiming;
}

export interface RunnerTiming {
  /** How often it looks for jobs that nobody told it of. */
  pollIntervalMs: number;
  /** How often it looks for jobs of processes that died. */
  recoveryIntervalMs: number;
  /** How long a stop waits for jobs before it tells them to end. Another process does them again. */
  stopPatienceMs: number;
  /** How long such a job then has to note how far it came. A job that takes longer is cut off. */
  settlingMs: number;
}

/** A job that was fetched ahead and found no hand free goes back for other processes to take. */
const fetchedAheadMs = 1_000;

/**
 * Starts the pools that run jobs, on connections of its own and with the lease that shows others that it lives. When the lease is
 * lost, others take its jobs for those of a dead process: from then on nothing that it still does may count, nor is
 * anything waited for that cannot come. So its connections are cut, and whoever comes after it begins with new ones.
 */
export async function startRunner({ url, appKey, timing, ...deps }: RunnerOptions): Promise<Runner> {
  const { config, logger, stopping } = deps;
  const lease = await takeLease({ connectionString: url, ...patienceOf(config) });
  const connections = new WorkerConnections(url, config, error => {
    if (!stopping.aborted) logger.warn({ err: error }, 'the worker lost a connection to PostgreSQL');
  });
  const queue = queryOn(connections);
  const tasks = buildTasks({
    ...deps,
    secretBox: buildSecretBox(appKey),
    unsubscribeTokens: buildUnsubscribeTokens(appKey),
    addressTokens: buildAddressTokens(appKey),
    queue,
    locks: lease,
  });
  const running: GraphileRunner[] = [];
  const cutOff = Promise.withResolvers<never>();
  cutOff.promise.catch(() => {});
  let cutOffTimer: NodeJS.Timeout | undefined;
  // A pool can wait for ever: for a job that ignores its signal, and in graphile-worker 0.18 also after a batch of
  // finished jobs could not be noted (https://github.com/graphile/worker/issues/636).
  const finish = (reason: string) => {
    cutOffTimer ??= setTimeout(
      () => cutOff.reject(new Error(`the worker took too long to end: ${reason}`)),
      timing.stopPatienceMs + timing.settlingMs,
    ).unref();
    for (const { stop } of running)
      stop(reason).catch(error => logger.debug({ err: error }, 'the worker is stopping already'));
  };

  try {
    for (const pool of buildPools(tasks, config.WORKER_CONCURRENCY)) {
      const runner = await startPool(pool);
      // It may fail while the next one starts.
      runner.promise.catch(() => {});
      running.push(runner);
    }
  } catch (error) {
    connections.cut();
    finish('another pool did not start');
    await lease.release();
    throw error;
  }
  const lost = lease.lost.then(error => {
    throw new Error('the worker lost its lease', { cause: error });
  });
  const pools = running.map(({ promise }) => promise.finally(() => finish('a pool has ended')));
  const ended = Promise.race([Promise.all(pools), lost, cutOff.promise])
    .then(
      () => connections.close(),
      error => {
        connections.cut();
        finish('it has failed');
        throw error;
      },
    )
    .finally(() => {
      clearTimeout(cutOffTimer);
      return lease.release();
    });
  // Whoever waits for the end is told; before somebody does, a rejection must not end the process.
  ended.catch(() => {});
  recoverJobs({ lease, queue, ended, logger, intervalMs: timing.recoveryIntervalMs });
  // Jobs may have been fetched whose names never arrived. They are this runner's until another runs in its place.
  connections.once('answer lost', () => finish('an answer of PostgreSQL was lost'));
  // So that readiness does not wait for the next full minute.
  await running[0]?.addJob('heartbeat', {}, { jobKey: 'heartbeat at start' }).catch(error => {
    logger.warn({ err: error }, 'no heartbeat could be asked for');
  });
  return {
    ended,
    async stop() {
      finish('the worker stops');
      await ended.catch(error => logger.warn({ err: error }, 'the worker did not stop cleanly'));
    },
  };

  function startPool({ taskList, concurrency, hasCron }: JobPool): Promise<GraphileRunner> {
    const events: WorkerEvents = new EventEmitter();
    // No job is fetched before others can see whose it is.
    events.once('pool:create', ({ workerPool }) => connections.waitFor(lease.holdPool(workerPool.id)));
    followQueues(events);
    if (deps.metrics) countJobs(events, deps.metrics);
    // A job that fails is tried again; one that has failed for good is a failure that nobody expected.
    events.on('job:failed', ({ job, error }) => deps.reporter.report(error, { task: job.task_identifier }));
    return run({
      pgPool: connections,
      events,
      taskList,
      ...(hasCron ? { crontab: buildCrontab(deps.extensions) } : { parsedCronItems: [] }),
      // The server stops it in its turn.
      noHandleSignals: true,
      logger: logJobs(logger),
      preset: {
        worker: {
          concurrentJobs: concurrency,
          pollInterval: timing.pollIntervalMs,
          gracefulShutdownAbortTimeout: timing.stopPatienceMs,
          // Jobs are fetched, completed and failed several at a time.
          localQueue: { size: concurrency, ttl: fetchedAheadMs },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  }
}

interface RecoveryOptions {
  lease: Lease;
  queue: Queryable;
  ended: Promise<void>;
  logger: Logger;
  intervalMs: number;
}

/** Frees the jobs of dead processes now and again while the runner runs, and wakes the lanes that waited in their memory. */
function recoverJobs({ lease, queue, ended, logger, intervalMs }: RecoveryOptions) {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  ended.then(over, over);
  const recover = async () => {
    if (isOver) return;
    try {
      const dead = await lease.recoverJobs();
      if (dead.length > 0) {
        logger.warn({ workers: dead }, 'freed the jobs of workers that died');
        await wakeOverdueLanes(queue, 0);
      }
    } catch (error) {
      if (!isOver) logger.warn({ err: error }, 'the jobs of dead workers could not be looked for');
    }
    if (!isOver) setTimeout(recover, intervalMs * (0.75 + Math.random() / 2)).unref();
  };
  void recover();
}
