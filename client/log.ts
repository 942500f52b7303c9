import type { Hooks } from './hooks.ts';

export const logLevels = ['off', 'error', 'warn', 'info', 'debug'] as const;

/**
 * The amount of log messages. Each level also includes the messages of the levels above it in this list:
 *
 * - `error`: a hook or the cache failed.
 * - `warn`: the client retries a request, or its retry budget is spent, or an operation is deprecated.
 * - `info`: a response arrived.
 * - `debug`: the client sends a request.
 */
export type LogLevel = (typeof logLevels)[number];

/** An object that writes log messages, such as `console` or a logger of pino. */
export type Logger = Readonly<Record<Exclude<LogLevel, 'off'>, (message: string) => unknown>>;

/** The maximum number of deprecated operations that a client remembers. */
const mostDeprecated = 100;

/** Writes log messages up to a level. The client logs neither the token nor the body of a request. */
export class Log {
  readonly #logger: Logger;
  readonly #level: LogLevel;
  readonly #deprecated = new Set<string>();
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
      // Ignores an error of the logger, because a failed log message must not make the call fail.
    }
  }

  /** Logs a warning for the first response that announces the deprecation of its operation (RFC 9745). */
  warnOfDeprecation(operation: string, headers: Headers) {
    const deprecation = headers.get('deprecation');
    if (deprecation === null || this.#deprecated.has(operation)) return;
    // Remembers only a limited number of operations. Each path of request() counts as an operation, and a program may
    // use any number of paths.
    if (this.#deprecated.size < mostDeprecated) this.#deprecated.add(operation);
    const seconds = /^@(\d{1,11})$/.exec(deprecation)?.[1];
    const since = seconds === undefined ? '' : ` since ${new Date(Number(seconds) * 1000).toISOString().slice(0, 10)}`;
    const sunset = headers.get('sunset');
    const end = sunset === null ? '' : ` It may be removed after ${sunset}.`;
    const link = /<([^>]*)>\s*;[^,]*rel="?deprecation\b/.exec(headers.get('link') ?? '')?.[1];
    this.write('warn', `${operation}: the operation is deprecated${since}.${end}${link ? ` See ${link}` : ''}`);
  }

  #environmentLevel(): LogLevel | undefined {
    const text = environmentVariable('IDEA_BOARD_LOG');
    const level = logLevels.find(one => one === text);
    // A wrong value in the environment variable only causes a warning, because it must not stop the program.
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
  // Does not read the environment variable without Deno's permission. Otherwise Deno would throw an error or ask the
  // user.
  if (Deno && Deno.permissions?.querySync?.({ name: 'env', variable: name }).state !== 'granted') return undefined;
  return process?.env?.[name];
}
