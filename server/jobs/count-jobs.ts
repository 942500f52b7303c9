import type { WorkerEvents } from 'graphile-worker';
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
