import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

/** The log of the server: JSON lines on standard output, without what must never be in one. */
export function buildLogger(config: Pick<Config, 'LOG_LEVEL'>): Logger {
  return pino({
    level: config.LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: ['*.authorization', '*.cookie', '*.password', '*.secret', '*.token'],
  });
}

/** What a log line says of an error. pg hangs its whole client on some, password included. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return { type: name, message, code, stack, ...(cause ? { cause: describeError(cause) } : {}) };
}
