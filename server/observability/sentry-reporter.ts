import { readFile } from 'node:fs/promises';
import type { ErrorEvent } from '@sentry/node';
import type { ErrorReporter } from './error-reporter.ts';

export interface SentryOptions {
  dsn: string;
  environment: string;
  /** Takes everything out of a value that must never leave the server. */
  scrub(value: unknown): unknown;
}

const packageFile = new URL('../../package.json', import.meta.url);

/** How long a stop waits for what is still to be sent. */
const flushMs = 2_000;

/** One failure that comes with every request would otherwise be sent as often: what is more is only counted in the log. */
const maxPerMinute = 30;

/**
 * Reports to a server that speaks Sentry's protocol: the error with its stack and causes, and where it happened. A
 * client by itself, without Sentry's instrumentation, which would look into every request and every query.
 */
export async function buildSentryReporter({ dsn, environment, scrub }: SentryOptions): Promise<ErrorReporter> {
  // Read when it is asked for: it takes a third of a second and 50 MB.
  const sentry = await import('@sentry/node');
  const { version } = JSON.parse(await readFile(packageFile, 'utf8')) as { version: string };
  const client = new sentry.NodeClient({
    dsn,
    environment,
    release: `idea-board@${version}`,
    transport: sentry.makeNodeTransport,
    stackParser: sentry.defaultStackParser,
    integrations: [sentry.linkedErrorsIntegration(), sentry.dedupeIntegration()],
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
