import { loadConfig } from '../../../server/config.ts';
import { startWorker, type Worker } from '../../../server/jobs/worker.ts';
import { buildLogger } from '../../../server/observability/logger.ts';
import { openDependencies } from '../../../server/open-dependencies.ts';
import { answerCalls, readUsage } from '../child.ts';

/** This server's worker as it runs in production. */
const config = loadConfig({
  DATABASE_URL: process.env.DATABASE_URL,
  APP_KEY: process.env.APP_KEY,
  WORKER_CONCURRENCY: process.env.WORKER_CONCURRENCY,
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
});
const url = config.DATABASE_URL ?? '';
const { server } = await openDependencies(url, config, buildLogger(config));
let worker: Worker | undefined;

answerCalls<'start' | 'stop' | 'usage'>(async message => {
  if (message === 'usage') return readUsage();
  if (message === 'start') worker = await startWorker({ ...server, url });
  else await worker?.stop();
});
