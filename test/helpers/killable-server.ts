/**
 * A server with a worker on an existing database, in a process of its own that a test can kill at any moment. It loads
 * everything first and begins when it is told to, so that little time passes between one that is killed and the next.
 */
import { buildApp } from '../../server/app.ts';
import { loadConfig } from '../../server/config.ts';
import { openDatabase } from '../../server/database/database.ts';
import { systemClock } from '../../server/domain/clock.ts';
import { startWorker } from '../../server/jobs/worker.ts';
import { buildLogger } from '../../server/observability/logger.ts';

const config = loadConfig();
const logger = buildLogger(config);
const url = config.DATABASE_URL ?? '';
const database = await openDatabase({
  url,
  poolSize: 8,
  connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
  statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
  logger,
});
const appKey = config.APP_KEY ?? Buffer.alloc(0);
const server = { config, database, clock: systemClock, logger, appKey };
const app = process.env.WITHOUT_HTTP === '1' ? undefined : await buildApp(server);
await app?.ready();
// Connections are made before it counts, too.
await Promise.all(Array.from({ length: 4 }, () => database.pool.query('select 1')));

process.once('message', async () => {
  await startWorker({ ...server, url });
  process.send?.(app ? await app.listen({ host: '127.0.0.1', port: 0 }) : 'works');
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
