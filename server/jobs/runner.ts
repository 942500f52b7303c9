import { EventEmitter } from 'node:events';
import { run, type WorkerEvents } from 'graphile-worker';
import type { Logger } from 'pino';
import type { ServerDependencies } from '../dependencies.ts';
import type { OutgoingRequests } from '../events/outgoing-request.ts';
import { buildAddressTokens } from '../events/people/address-token.ts';
import type { Mailer } from '../events/people/mailer.ts';
import { buildUnsubscribeTokens } from '../events/people/unsubscribe-token.ts';
import { buildSecretBox } from '../events/secret-box.ts';
import { countJobs } from './count-jobs.ts';
import { followQueues } from './follow-queues.ts';
import { type Lease, takeLease } from './lease.ts';
import { logJobs } from './log-jobs.ts';
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
  /** What a stop waits for jobs before it cuts them off: they are done again, by a process that goes on. */
  stopPatienceMs: number;
}

/** A job that was fetched ahead and found no hand free goes back for other processes to take. */
const fetchedAheadMs = 1_000;

/**
 * Starts what runs jobs, on connections of its own and with the lease that shows others that it lives. When the lease is
 * lost, others take its jobs for those of a dead process: from then on nothing that it still does may count, nor is
 * anything waited for that cannot come. So its connections are cut, and whoever comes after it begins with new ones.
 */
export async function startRunner({ url, appKey, timing, ...deps }: RunnerOptions): Promise<Runner> {
  const { config, logger, stopping } = deps;
  const lease = await takeLease({ connectionString: url, ...patienceOf(config) });
  const connections = new WorkerConnections(url, config, error => {
    if (!stopping.aborted) logger.warn({ err: error }, 'the worker lost a connection to PostgreSQL');
  });
  const events: WorkerEvents = new EventEmitter();
  // No job is fetched before others can see whose it is.
  events.once('pool:create', ({ workerPool }) => connections.waitFor(lease.holdPool(workerPool.id)));
  followQueues(events);
  if (deps.metrics) countJobs(events, deps.metrics);
  // A job that fails is tried again; one that has failed for good is a failure that nobody expected.
  events.on('job:failed', ({ job, error }) => deps.reporter.report(error, { task: job.task_identifier }));

  let running: Awaited<ReturnType<typeof run>>;
  try {
    running = await run({
      pgPool: connections,
      events,
      taskList: buildTasks({
        ...deps,
        secretBox: buildSecretBox(appKey),
        unsubscribeTokens: buildUnsubscribeTokens(appKey),
        addressTokens: buildAddressTokens(appKey),
        queue: queryOn(connections),
        locks: lease,
      }),
      crontab: buildCrontab(deps.extensions),
      // The server stops it in its turn.
      noHandleSignals: true,
      logger: logJobs(logger),
      preset: {
        worker: {
          concurrentJobs: config.WORKER_CONCURRENCY,
          pollInterval: timing.pollIntervalMs,
          gracefulShutdownAbortTimeout: timing.stopPatienceMs,
          // Jobs are fetched, completed and failed several at a time.
          localQueue: { size: config.WORKER_CONCURRENCY, ttl: fetchedAheadMs },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    });
  } catch (error) {
    connections.cut();
    await lease.release();
    throw error;
  }
  const { stop, promise } = running;
  const finish = (reason: string) => {
    stop(reason).catch(error => logger.debug({ err: error }, 'the worker is stopping already'));
  };
  const lost = lease.lost.then(error => {
    throw new Error('the worker lost its lease', { cause: error });
  });
  const ended = Promise.race([promise, lost])
    .then(
      () => connections.close(),
      error => {
        connections.cut();
        finish('it has failed');
        throw error;
      },
    )
    .finally(() => lease.release());
  // Whoever waits for the end is told; before somebody does, a rejection must not end the process.
  ended.catch(() => {});
  recoverJobs({ lease, ended, logger, intervalMs: timing.recoveryIntervalMs });
  // Jobs may have been fetched whose names never arrived. They are this runner's until another runs in its place.
  connections.once('answer lost', () => finish('an answer of PostgreSQL was lost'));
  // So that readiness does not wait for the next full minute.
  await running.addJob('heartbeat', {}, { jobKey: 'heartbeat at start' }).catch(error => {
    logger.warn({ err: error }, 'no heartbeat could be asked for');
  });
  return {
    ended,
    async stop() {
      finish('the worker stops');
      await ended.catch(error => logger.warn({ err: error }, 'the worker did not stop cleanly'));
    },
  };
}

interface RecoveryOptions {
  lease: Lease;
  ended: Promise<void>;
  logger: Logger;
  intervalMs: number;
}

/** Frees the jobs of dead processes now and again while the runner runs. */
function recoverJobs({ lease, ended, logger, intervalMs }: RecoveryOptions) {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  ended.then(over, over);
  const recover = async () => {
    if (isOver) return;
    try {
      const dead = await lease.recoverJobs();
      if (dead.length > 0) logger.warn({ workers: dead }, 'freed the jobs of workers that died');
    } catch (error) {
      if (!isOver) logger.warn({ err: error }, 'the jobs of dead workers could not be looked for');
    }
    if (!isOver) setTimeout(recover, intervalMs * (0.75 + Math.random() / 2)).unref();
  };
  void recover();
}
