import { Logger as GraphileLogger, type Job } from 'graphile-worker';
import type { Logger } from 'pino';

/** What graphile-worker says, in the log of the server. Of what goes well it tells only who debugs. */
export function logJobs(logger: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    const { failure, job, error } = (meta ?? {}) as { failure?: boolean; job?: Job; error?: unknown };
    if (failure && job) {
      // Its own words repeat the error's, in which PostgreSQL may quote a value: ours leave that out.
      const { id, task_identifier: task, attempts: attempt } = job;
      logger.error({ err: error, task, jobId: id, attempt }, 'a job failed');
      return;
    }
    const pinoLevel = level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug';
    logger[pinoLevel]({ worker: message }, 'worker');
  });
}
