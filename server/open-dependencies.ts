import type { Logger } from 'pino';
import { loadAppKey } from './app-key.ts';
import type { Config } from './config.ts';
import { openDatabase } from './database/database.ts';
import type { ServerDependencies } from './dependencies.ts';
import { buildPasswords } from './domain/sign-in/passwords.ts';
import { systemClock } from './domain/time.ts';
import type { Extension } from './extensions/extension.ts';
import { silentReporter } from './observability/error-reporter.ts';
import { buildMetrics } from './observability/metrics.ts';
import { openAuditLog } from './observability/open-audit-log.ts';
import { openTracing } from './observability/open-tracing.ts';
import { buildRedactor } from './observability/redactor.ts';
import { buildSentryReporter } from './observability/sentry-reporter.ts';

/**
 * The maximum time, in milliseconds, that a request waits for a database lock. A short write holds its locks for
 * milliseconds, and a merge of 100,000 votes for less than a second. CLI commands have no lock timeout, but
 * DATABASE_STATEMENT_TIMEOUT_MS limits their statements.
 */
const lockTimeoutMs = 1_000;

export async function openDependencies(
  url: string,
  config: Config,
  logger: Logger,
  extensions: readonly Extension[] = [],
): Promise<{ server: ServerDependencies; close: () => Promise<void> }> {
  const appKey = await loadAppKey(config, logger);
  const redactor = buildRedactor({ appKey, settings: { ...config, DATABASE_URL: url, APP_KEY: appKey }, extensions });
  const { audit, close: closeAuditLog } = openAuditLog(config, redactor, logger);
  const { DATABASE_READ_URL: readUrl, DATABASE_READ_MAX_LAG_MS: maxLagMs } = config;
  const database = await openDatabase({
    url,
    directUrl: config.DATABASE_DIRECT_URL,
    read: readUrl === undefined ? undefined : { url: readUrl, maxLagMs },
    poolSize: config.DATABASE_POOL_SIZE,
    connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
    statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    lockTimeoutMs,
    logger,
  });
  const { SENTRY_DSN: dsn, SENTRY_ENVIRONMENT: environment } = config;
  const reporter = dsn ? await buildSentryReporter({ dsn, environment, scrub: redactor.value }) : silentReporter;
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  const tracing = endpoint === undefined ? undefined : await openTracing({ endpoint, config, logger });
  return {
    server: {
      config,
      database,
      clock: systemClock,
      logger,
      appKey,
      audit,
      reporter,
      metrics: config.METRICS_PORT === undefined ? undefined : buildMetrics(),
      tracing,
      passwords: buildPasswords(),
      extensions,
    },
    async close() {
      await database.close();
      closeAuditLog();
      await Promise.all([reporter.close(), tracing?.close()]);
    },
  };
}
