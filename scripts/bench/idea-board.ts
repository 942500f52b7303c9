import { buildApp } from '../../server/app.ts';
import { loadConfig } from '../../server/config.ts';
import { startWorker, type Worker } from '../../server/jobs/worker.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { openDependencies } from '../../server/open-dependencies.ts';
import { answerCalls, readUsage } from './answer-calls.ts';
import { serverTimeCalls } from './server-times.ts';

/**
 * Runs our server and worker as in production. The server enforces its rate limits, but no request exceeds them unless
 * RATE_LIMIT_READ sets a lower limit.
 */
const { DATABASE_URL, APP_KEY, WORKER_CONCURRENCY, RATE_LIMIT_READ } = process.env;
const config = loadConfig({
  DATABASE_URL,
  APP_KEY: APP_KEY ?? Buffer.alloc(32).toString('base64'),
  WORKER_CONCURRENCY,
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  RATE_LIMIT_READ: RATE_LIMIT_READ ?? '1000000000',
  RATE_LIMIT_WRITE: '1000000000',
  RATE_LIMIT_IP: '1000000000',
});
const url = config.DATABASE_URL ?? '';
const { server } = await openDependencies(url, config, buildLogger(config));
let worker: Worker | undefined;

const actions = {
  url: async () => (await buildApp(server)).listen({ host: '127.0.0.1', port: 0 }),
  usage: readUsage,
  start: async () => {
    worker = await startWorker({ ...server, url });
  },
  stop: () => worker?.stop(),
  ...serverTimeCalls,
};
answerCalls<keyof typeof actions>(message => actions[message]());
