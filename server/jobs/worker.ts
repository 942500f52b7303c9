import { setTimeout as delay } from 'node:timers/promises';
import { Logger as GraphileLogger, type Runner, run } from 'graphile-worker';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { crontab, tasks } from './tasks.ts';

export interface Worker {
  /** Lets running jobs finish, and then resolves. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  url: string;
  config: Pick<Config, 'DATABASE_CONNECT_TIMEOUT_MS'>;
  logger: Logger;
}

const concurrency = 4;
/** One connection for each job, one to listen for new ones, and one for the cron. */
const poolSize = concurrency + 2;
const pollIntervalMs = 2_000;
const restartDelayMs = 1_000;

/**
 * Starts the worker of jobs and cron. It gives up after too many errors in a row, such as when PostgreSQL was away
 * for long: then it is started again, until it is stopped.
 */
export async function startWorker({ url, config, logger }: WorkerOptions): Promise<Worker> {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'idea-board worker',
    max: poolSize,
    connectionTimeoutMillis: config.DATABASE_CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  const stopping = new AbortController();
  const onLost = (err: Error) => {
    if (!stopping.signal.aborted) logger.warn({ err }, 'the worker lost a connection to PostgreSQL');
  };
  pool.on('error', onLost);
  pool.on('connect', client => client.on('error', onLost));

  let runner: Runner | undefined = await startRunner(pool, logger);
  // A heartbeat at the start, so that readiness does not wait for the first full minute.
  await runner.addJob('heartbeat', {}, { jobKey: 'heartbeat at start' });
  const ended = superviseRunner();

  async function superviseRunner() {
    while (!stopping.signal.aborted) {
      try {
        runner ??= await startRunner(pool, logger);
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
    },
  };
}

function startRunner(pgPool: pg.Pool, logger: Logger): Promise<Runner> {
  return run({
    pgPool,
    taskList: tasks,
    crontab,
    concurrency,
    pollInterval: pollIntervalMs,
    // The server stops it in its turn.
    noHandleSignals: true,
    // Without batches graphile-worker awaits nobody's answer when it removes a job that is done: a connection that is
    // lost just then would be an unhandled rejection, and end the process. A batch tells the runner, which ends.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    logger: new GraphileLogger(() => (level, message) => {
      const pinoLevel = level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug';
      logger[pinoLevel]({ worker: message }, 'worker');
    }),
  });
}
