import { buildApp } from '../../server/app.ts';
import { loadConfig } from '../../server/config.ts';
import { openDatabase } from '../../server/database/database.ts';
import { systemClock } from '../../server/domain/clock.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { answerCalls, readUsage } from './child.ts';

/** This server as it runs in production, with limits that are counted and never reached. */
const config = loadConfig({
  DATABASE_URL: process.env.DATABASE_URL,
  RATE_LIMIT_READ: '1000000000',
  RATE_LIMIT_WRITE: '1000000000',
  RATE_LIMIT_IP: '1000000000',
});
const logger = buildLogger(config);
const database = await openDatabase({
  url: config.DATABASE_URL ?? '',
  poolSize: config.DATABASE_POOL_SIZE,
  connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
  statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
  logger,
});
const appKey = Buffer.alloc(32);
const app = await buildApp({ config, database, clock: systemClock, logger, appKey });
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });

answerCalls<'url' | 'usage'>(message => (message === 'url' ? baseUrl : readUsage()));
