import { loadConfig } from '../../../server/config.ts';
import { openDatabase } from '../../../server/database/database.ts';
import { systemClock } from '../../../server/domain/clock.ts';
import { startWorker, type Worker } from '../../../server/jobs/worker.ts';
import { buildLogger } from '../../../server/observability/logger.ts';
import { answerCalls, readUsage } from '../child.ts';

/** This server's worker as it runs in production. */
const config = loadConfig({
  DATABASE_URL: process.env.DATABASE_URL,
  WORKER_CONCURRENCY: process.env.WORKER_CONCURRENCY,
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
});
const logger = buildLogger(config);
const url = config.DATABASE_URL ?? '';
const database = await openDatabase({
  url,
  poolSize: config.DATABASE_POOL_SIZE,
  connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
  statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
  logger,
});
const appKey = Buffer.from(process.env.APP_KEY ?? '', 'base64');
let worker: Worker | undefined;

answerCalls<'start' | 'stop' | 'usage'>(async message => {
  if (message === 'usage') return readUsage();
  if (message === 'start') worker = await startWorker({ url, config, database, clock: systemClock, logger, appKey });
  else await worker?.stop();
});
