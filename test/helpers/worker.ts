import { onTestFailed, onTestFinished } from 'vitest';
import { type Config, loadConfig } from '../../server/config.ts';
import { systemClock } from '../../server/domain/time.ts';
import { startWorker, type Worker, type WorkerOptions } from '../../server/jobs/worker.ts';
import { buildAuditLog } from '../../server/observability/audit-log.ts';
import { silentReporter } from '../../server/observability/error-reporter.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import type { TestDatabase } from './database.ts';
import { testAppKey } from './server.ts';

export interface TestWorker extends Worker {
  logLines: string[];
  auditLines: string[];
}

export interface TestWorkerOptions extends Partial<Omit<WorkerOptions, 'url' | 'config' | 'database'>> {
  environment?: Record<string, string>;
}

/** Returns settings that allow a worker to send requests to 127.0.0.1. */
export function workerConfig(environment: Record<string, string> = {}): Config {
  return loadConfig({ WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', ...environment });
}

/** Starts a worker that stops at the end of the test. */
export async function startWorkerForTest(
  db: Pick<TestDatabase, 'url' | 'database'>,
  options: TestWorkerOptions = {},
): Promise<TestWorker> {
  const worker = await startTestWorker(db, options);
  onTestFinished(worker.stop);
  onTestFailed(() => console.log(worker.logLines.filter(line => JSON.parse(line).level >= 40).join('')));
  return worker;
}

/** Starts a worker. The caller must stop it. */
export async function startTestWorker(
  { url, database }: Pick<TestDatabase, 'url' | 'database'>,
  { environment = {}, ...options }: TestWorkerOptions = {},
): Promise<TestWorker> {
  const config = workerConfig({ LOG_LEVEL: 'debug', ...environment });
  const logLines: string[] = [];
  const logger = buildLogger({ ...config, APP_KEY: testAppKey }, { write: line => logLines.push(line) });
  const auditLines: string[] = [];
  const worker = await startWorker({
    url,
    config,
    database,
    clock: systemClock,
    logger,
    appKey: testAppKey,
    audit: buildAuditLog({
      destination: { write: line => auditLines.push(line) },
      redactor: buildRedactor({ appKey: testAppKey, settings: config }),
    }),
    reporter: silentReporter,
    extensions: [],
    ...options,
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= worker.stop();
    return stopped;
  };
  return { logLines, auditLines, stop };
}
