import { Logger, type Runner, run } from 'graphile-worker';
import pg from 'pg';
import { loadConfig } from '../../../server/config.ts';
import { buildAddressGuard } from '../../../server/outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../../server/outgoing/outgoing-request.ts';
import { answerCalls, readUsage } from '../answer-calls.ts';

/**
 * This program is the "floor" of the webhook benchmark: graphile-worker with a task that only sends POST requests. The
 * task does not read, sign or record anything, and events may arrive out of order. `plain` has graphile-worker's
 * default settings, and `tuned` has the settings of our worker.
 */
const config = loadConfig({
  WORKER_CONCURRENCY: process.env.WORKER_CONCURRENCY,
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
});
const concurrency = config.WORKER_CONCURRENCY;
const requests = buildOutgoingRequests({ guard: buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS) });
const tuned = { localQueue: { size: concurrency, ttl: 1_000 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
let runner: Runner | undefined;

interface FloorJob {
  url: string;
  id: string;
  body: string;
}

async function start(isTuned: boolean) {
  const pgPool = new pg.Pool({
    connectionString: process.env.DATABASE_URL,
    max: isTuned ? 10 : concurrency + 2,
    onConnect: async client => {
      if (isTuned) await client.query('set synchronous_commit = off');
    },
  });
  pgPool.on('error', () => {});
  pgPool.on('connect', client => client.on('error', () => {}));
  runner = await run({
    pgPool,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    preset: { worker: { concurrentJobs: concurrency, ...(isTuned ? tuned : {}) } },
    taskList: {
      bench_post: async payload => {
        const { url, id, body } = payload as FloorJob;
        const headers = {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': '1773480413',
          'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        };
        const { status } = await requests.post(url, { headers, body });
        if (status >= 300) throw new Error(`answered ${status}`);
      },
    },
  });
  runner.promise.then(() => pgPool.end());
}

answerCalls<'start plain' | 'start tuned' | 'stop' | 'usage'>(async message => {
  if (message === 'usage') return readUsage();
  if (message === 'stop') await runner?.stop();
  else await start(message === 'start tuned');
});
