import { readFile } from 'node:fs/promises';
import type { ErrorEvent } from '@sentry/node';
import type { ErrorReporter } from './error-reporter.ts';

export interface SentryOptions {
  dsn: string;
  environment: string;
  scrub(value: unknown): unknown;
}

const packageFile = new URL('../../package.json', import.meta.url);

const flushMs = 2_000;

/** The maximum number of reports in a minute, in case every request causes a failure. The log contains all failures. */
const maxPerMinute = 30;

/**
 * Builds a reporter that sends errors with their stacks, causes and context to a server with Sentry's protocol. The
 * reporter uses only Sentry's client, because Sentry's instrumentation would inspect every request and every query.
 */
export async function buildSentryReporter({ dsn, environment, scrub }: SentryOptions): Promise<ErrorReporter> {
  // Sentry's package is loaded only on demand, because loading takes a third of a second and 50 MB.
  const sentry = await import('@sentry/node');
  const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
  const client = new sentry.NodeClient({
    dsn,
    environment,
    release: `idea-board@${version}`,
    transport: sentry.makeNodeTransport,
    stackParser: sentry.defaultStackParser,
    integrations: [sentry.linkedErrorsIntegration()],
    includeServerName: false,
    sendClientReports: false,
    maxValueLength: 2_000,
    beforeSend: event => scrub(event) as ErrorEvent,
  });
  client.init();
  let windowStartedAt = 0;
  let sentInWindow = 0;

  return {
    report(error, context = {}) {
      const now = performance.now();
      if (now - windowStartedAt > 60_000) {
        windowStartedAt = now;
        sentInWindow = 0;
      }
      if (++sentInWindow > maxPerMinute) return;
      const scope = new sentry.Scope();
      scope.setClient(client);
      for (const [name, value] of Object.entries(context)) scope.setTag(name, value);
      scope.captureException(error);
    },
    async close() {
      await client.close(flushMs);
    },
  };
}
