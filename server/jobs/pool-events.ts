import { Logger as GraphileLogger, type Job, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type { Logger } from 'pino';
import type { Metrics } from '../observability/metrics.ts';

export function countJobs(events: WorkerEvents, metrics: Metrics) {
  const startedAt = new Map<string, number>();
  events.on('job:start', ({ job }) => {
    startedAt.set(job.id, performance.now());
  });
  events.on('job:complete', ({ job, error }) => {
    const start = startedAt.get(job.id);
    if (start === undefined) return;
    startedAt.delete(job.id);
    metrics.countJob(job.task_identifier, error ? 'failed' : 'done', performance.now() - start);
  });
}

/**
 * Writes the messages of graphile-worker to the log of the server. Messages other than warnings and errors get the
 * level debug.
 */
export function logJobs(logger: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    const { failure, job, error } = (meta ?? {}) as { failure?: boolean; job?: Job; error?: unknown };
    if (failure && job) {
      // Omits graphile-worker's own message. This message repeats the error message of PostgreSQL, which may quote a
      // value.
      const { id, task_identifier: task, attempts: attempt } = job;
      logger.error({ err: error, task, jobId: id, attempt }, 'a job failed');
      return;
    }
    const pinoLevel = level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug';
    logger[pinoLevel]({ worker: message }, 'worker');
  });
}

/**
 * The delays before the server looks for the next job of a named queue. Usually the server finds the job after the
 * first delay. If PostgreSQL is busy, the server finds the job after the second delay.
 */
const queueDelaysMs = [5, 50];

/**
 * Looks for the next job of a named queue when a job of this queue has ended. graphile-worker does not announce that
 * the queue is free. By itself, it would find the next job seconds later.
 */
export function followQueues(events: WorkerEvents) {
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
