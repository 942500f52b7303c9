import type { Logger } from 'pino';
import { loadAppKey } from './app-key.ts';
import type { Config } from './config.ts';
import { openDatabase } from './database/database.ts';
import type { ServerDependencies } from './dependencies.ts';
import { systemClock } from './domain/clock.ts';
import { buildAuditLog } from './observability/audit-log.ts';
import { silentReporter } from './observability/error-reporter.ts';

/** What a process of the server works with, as the settings say, and how to close it. */
export async function openDependencies(
  url: string,
  config: Config,
  logger: Logger,
): Promise<{ server: ServerDependencies; close: () => Promise<void> }> {
  const appKey = await loadAppKey(config, logger);
  const database = await openDatabase({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
    statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    logger,
  });
  const reporter = silentReporter;
  return {
    server: {
      config,
      database,
      clock: systemClock,
      logger,
      appKey,
      audit: buildAuditLog(process.stdout),
      reporter,
      extensions: [],
    },
    async close() {
      await database.close();
      await reporter.close();
    },
  };
}
