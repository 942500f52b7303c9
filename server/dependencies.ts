import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import type { Passwords } from './domain/sign-in/passwords.ts';
import type { Clock } from './domain/time.ts';
import type { Extension } from './extensions/extension.ts';
import type { Tracing } from './observability/active-span.ts';
import type { AuditLog } from './observability/audit-log.ts';
import type { ErrorReporter } from './observability/error-reporter.ts';
import type { Metrics } from './observability/metrics.ts';

export interface ServerDependencies {
  config: Config;
  database: Database;
  clock: Clock;
  logger: Logger;
  audit: AuditLog;
  reporter: ErrorReporter;
  /** The metrics. Undefined if METRICS_PORT is not set. */
  metrics?: Metrics | undefined;
  /** The traces. Undefined if OTEL_EXPORTER_OTLP_ENDPOINT is not set. */
  tracing?: Tracing | undefined;
  passwords: Passwords;
  extensions: readonly Extension[];
  /** The application key of 32 bytes. It encrypts stored secrets and is the key of the server's HMACs. */
  appKey: Buffer;
}
