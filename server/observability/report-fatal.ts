import { loadConfig } from '../config.ts';
import { buildEnvironmentRedactor } from './redactor.ts';
import { buildSentryReporter } from './sentry-reporter.ts';

/**
 * Reports the error that ends a process, if SENTRY_DSN is set: an internal error of a command, or a failed start
 * (specification: Limits, operational rule 4). Waits until the report is sent, for a few seconds at most.
 */
export async function reportFatal(error: unknown, environment: NodeJS.ProcessEnv, process: string): Promise<void> {
  try {
    const { SENTRY_DSN: dsn, SENTRY_ENVIRONMENT } = loadConfig(environment);
    if (dsn === undefined) return;
    const scrub = buildEnvironmentRedactor(environment).value;
    const reporter = await buildSentryReporter({ dsn, environment: SENTRY_ENVIRONMENT, scrub });
    reporter.report(error, { process });
    await reporter.close();
  } catch {
    // The settings are invalid, or the report failed. The process has already printed the error.
  }
}
