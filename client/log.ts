import type { Hooks } from './hooks.ts';

export const logLevels = ['off', 'error', 'warn', 'info', 'debug'] as const;

/**
 * The amount of log messages. Each level includes the levels before it:
 *
 * - `error`: a hook or the cache failed.
 * - `warn`: the client retries a request, or its retry budget is spent.
 * - `info`: a response arrived.
 * - `debug`: the client sends a request.
 */
export type LogLevel = (typeof logLevels)[number];

/** An object that writes log messages, such as `console` or a logger of pino. */
export type Logger = Readonly<Record<Exclude<LogLevel, 'off'>, (message: string) => unknown>>;

/** Writes log messages up to a level. The client logs neither the token nor the body of a request. */
export class Log {
  readonly #logger: Logger;
  readonly #level: LogLevel;
  /** The hooks that log requests, responses and retries. */
  readonly hooks: Hooks = {
    onRequest: ({ operation, method, url, attempt }) =>
      this.write('debug', `${operation}: attempt ${attempt} sends ${method} ${url}`),
    onResponse: ({ operation, status, durationMs, requestId }) =>
      this.write('info', `${operation}: status ${status} after ${Math.round(durationMs)} ms, request id ${requestId}`),
    onRetry: ({ operation, attempt, error, delayMs }) =>
      this.write('warn', `${operation}: attempt ${attempt} failed, retry in ${delayMs} ms. ${error.message}`),
  };

  constructor(level: LogLevel | undefined, logger: Logger = console) {
    this.#logger = logger;
    this.#level = level ?? this.#environmentLevel() ?? 'off';
  }

  write(level: keyof Logger, message: string) {
    if (logLevels.indexOf(level) > logLevels.indexOf(this.#level)) return;
    try {
      this.#logger[level](`[idea-board] ${message}`);
    } catch {
      // A failing logger must not fail the call.
    }
  }

  #environmentLevel(): LogLevel | undefined {
    const text = environmentVariable('IDEA_BOARD_LOG');
    const level = logLevels.find(one => one === text);
    // Ignores an invalid value, because a person may set the variable for a running program, and the program must not
    // stop.
    if (text && !level)
      this.#logger.warn(`[idea-board] IDEA_BOARD_LOG must be one of ${logLevels.join(', ')}, but is "${text}"`);
    return level;
  }
}

interface Runtime {
  process?: { env?: Record<string, string | undefined> };
  Deno?: { permissions?: { querySync?(query: { name: 'env'; variable: string }): { state: string } } };
}

function environmentVariable(name: string): string | undefined {
  const { process, Deno } = globalThis as Runtime;
  // Ignores the error of Deno. Without the permission to read the variable, Deno throws an error or asks the user.
  if (Deno && Deno.permissions?.querySync?.({ name: 'env', variable: name }).state !== 'granted') return undefined;
  return process?.env?.[name];
}
