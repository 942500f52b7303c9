import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Runner as GraphileRunner, run, type WorkerEvents } from 'graphile-worker';
import type { Mailer } from '../delivery/mail/mailer.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { buildUnsubscribeTokens } from '../domain/notifications/unsubscribe-token.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { buildAddressTokens } from '../domain/users/change-address.ts';
import { wakeOverdueLanes } from '../domain/webhooks/wake-lanes.ts';
import type { OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { takeLease } from './lease.ts';
import { countJobs, followQueues, logJobs } from './pool-events.ts';
import { buildPools, type JobPool } from './pools.ts';
import { buildCrontab, buildTasks } from './tasks.ts';
import { traceTasks } from './trace-tasks.ts';
import { patienceOf, queryOn, WorkerConnections } from './worker-connections.ts';

/** Runs jobs until it is stopped or PostgreSQL becomes unavailable. */
export interface Runner {
  /** Resolves when the runner has stopped. Rejects if the runner has failed. */
  readonly ended: Promise<void>;
  /** Lets running jobs finish for a limited time, if PostgreSQL is available. Resolves when the runner has stopped. */
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
  /** How often the runner looks for new jobs by itself. PostgreSQL announces most new jobs, but not all of them. */
  pollIntervalMs: number;
  /** How often the runner looks for jobs of dead processes. */
  recoveryIntervalMs: number;
  /** How long a stop waits for running jobs before it aborts them. An aborted job runs again later. */
  stopPatienceMs: number;
  /** How long an aborted job has to record its progress before the runner closes the job's connections. */
  settlingMs: number;
}

/** How long a prefetched job may wait in the process. After this time, the process returns the job to the queue. */
const prefetchMs = 1_000;

/**
 * Starts the pools that run jobs. The runner has its own connections, and its own lease: locks that show that the
 * process is alive. If the lease is lost, other processes take over the jobs. So this runner closes its connections
 * immediately, because PostgreSQL must not store its later results. The next runner opens new connections.
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
  // After a time limit, the runner ends even if some pools have not ended. Some pools would never end by themselves,
  // for example because a job ignores its abort signal. Another cause is that graphile-worker 0.18 failed to record a
  // batch of finished jobs (https://github.com/graphile/worker/issues/636).
  const finish = (reason: string) => {
    cutOffTimer ??= setTimeout(
      () => cutOff.reject(new Error(`the worker took too long to end: ${reason}`)),
      timing.stopPatienceMs + timing.settlingMs,
    ).unref();
    for (const { stop } of running)
      stop(reason).catch(error => logger.debug({ err: error }, 'the worker is stopping already'));
  };

  try {
    for (const pool of buildPools(traceTasks(tasks, deps.tracing), config.WORKER_CONCURRENCY)) {
      const runner = await startPool(pool);
      // If this pool fails while the next pool is still starting, the rejected promise must not end the process. The
      // code after the loop handles the failure.
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
  // If `ended` rejects before other code awaits it, the rejection must not end the process.
  ended.catch(() => {});
  const over = new AbortController();
  ended.finally(() => over.abort()).catch(() => {});
  void recoverJobs(over.signal);
  // PostgreSQL may have locked jobs for this process, although the answer to the statement was lost. These jobs stay
  // locked until a new runner replaces this runner.
  connections.once('answer lost', () => finish('an answer of PostgreSQL was lost'));
  // Adds the first heartbeat job now, so that GET /ready does not wait for the next full minute.
  await running[0]?.addJob('heartbeat', {}, { jobKey: 'heartbeat at start' }).catch(error => {
    logger.warn({ err: error }, 'could not add the job of the first heartbeat');
  });
  return {
    ended,
    async stop() {
      finish('the worker stops');
      await ended.catch(error => logger.warn({ err: error }, 'the worker did not stop cleanly'));
    },
  };

  /**
   * Unlocks the jobs of dead processes at intervals. If it finds such jobs, it also wakes all webhook lanes (delivery
   * queues) with due deliveries.
   */
  async function recoverJobs(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const dead = await lease.recoverJobs();
        if (dead.length > 0) {
          logger.warn({ workers: dead }, 'freed the jobs of workers that died');
          await wakeOverdueLanes(queue, 0);
        }
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error }, 'could not look for the jobs of dead workers');
      }
      const delayMs = timing.recoveryIntervalMs * (0.75 + Math.random() / 2);
      await delay(delayMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  function startPool({ taskList, concurrency, hasCron }: JobPool): Promise<GraphileRunner> {
    const events: WorkerEvents = new EventEmitter();
    // The pool fetches no jobs before it holds its lock. Other processes see by this lock that this process is alive.
    events.once('pool:create', ({ workerPool }) => connections.waitFor(lease.holdPool(workerPool.id)));
    followQueues(events);
    if (deps.metrics) countJobs(events, deps.metrics);
    // graphile-worker emits this event only when a job has used all its tries. So the server does not report a failure
    // if a retry succeeds.
    events.on('job:failed', ({ job, error }) => deps.reporter.report(error, { task: job.task_identifier }));
    return run({
      pgPool: connections,
      events,
      taskList,
      ...(hasCron ? { crontab: buildCrontab(deps.extensions) } : { parsedCronItems: [] }),
      // graphile-worker must not handle signals, because the server handles them.
      noHandleSignals: true,
      logger: logJobs(logger),
      preset: {
        worker: {
          concurrentJobs: concurrency,
          pollInterval: timing.pollIntervalMs,
          gracefulShutdownAbortTimeout: timing.stopPatienceMs,
          // These options let graphile-worker fetch, complete and fail jobs in batches.
          localQueue: { size: concurrency, ttl: prefetchMs },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  }
}
