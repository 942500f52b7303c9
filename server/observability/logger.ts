import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

/** What a token looks like wherever it turns up, such as in a path into which one was pasted. */
const tokens = /\bib_(\d+)_[A-Za-z0-9_-]{43}/g;

/** The log of the server: JSON lines, on standard output unless told otherwise, without what must never be in one. */
export function buildLogger(
  config: Pick<Config, 'LOG_LEVEL'>,
  destination: DestinationStream = standardOutput(),
): Logger {
  return pino(
    {
      level: config.LOG_LEVEL,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
      redact: ['*.authorization', '*.cookie', '*.password', '*.secret', '*.token'],
      hooks: { streamWrite: line => line.replace(tokens, 'ib_$1_[Redacted]') },
    },
    destination,
  );
}

/**
 * Standard output, some lines at a time: a write for each request cost a tenth of what a small one takes. What is left
 * is written each second and when the process ends; a kill -9 loses the lines of the last second.
 */
function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 1000 });
}

/** What a log line says of an error. pg hangs its whole client on some, password included. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return { type: name, message, code, stack, ...(cause ? { cause: describeError(cause) } : {}) };
}
