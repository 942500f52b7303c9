import type { WorkerEvents, WorkerPool } from 'graphile-worker';

/** A moment in which the end of a job is surely written, and one for when PostgreSQL is busy. */
const queueDelaysMs = [5, 50];

/**
 * Looks for the next job of a named queue when one of its jobs has ended: nothing else tells that the queue is free,
 * and the next look on its own is seconds away.
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
