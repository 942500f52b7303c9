import { readAnswer, requestIdOf } from './answer.ts';
import { type Send, sendOnce, sendWithFetch } from './attempt.ts';
import { MemoryCache, type ResponseCache } from './cache.ts';
import { Call, type CallResult } from './call.ts';
import { checkOptions } from './check-options.ts';
import type { OperationId, Operations } from './contract.ts';
import { IdeaBoardError } from './errors.ts';
import { callHook, type Hooks } from './hooks.ts';
import { Log } from './log.ts';
import { type ApiRequest, defaultLimits, type Fetch, type IdeaBoardOptions, type Limits } from './options.ts';
import { readRateLimit } from './rate-limit.ts';
import {
  type AnyCallOptions,
  type CallInput,
  knownOperation,
  type Operation,
  type PreparedRequest,
  prepareRequest,
  type RequestDefaults,
  unknownOperation,
} from './request.ts';
import { RetryBudget, retryDelayMs } from './retry.ts';
import { sendWithCache } from './send-with-cache.ts';

/** The clock, the random numbers and the timer of the runtime. Tests replace these functions. */
export interface Environment {
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
  /** Returns a random number from 0 up to 1. */
  random(): number;
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

type ResolvedLimits = typeof defaultLimits;

const limitNames = Object.keys(defaultLimits) as (keyof ResolvedLimits)[];
const callOptionNames = ['board', 'signal', 'headers', 'fetchOptions', ...limitNames];
const optionNames = [
  ...[
    'baseUrl',
    'token',
    'board',
    'headers',
    'hooks',
    'fetch',
    'fetchOptions',
    'validate',
    'cache',
    'logLevel',
    'logger',
  ],
  ...limitNames,
];

/** Calls operations of the API: sends requests, retries them if that is safe and useful, and reads the responses. */
export class Caller {
  /** The options of the client. The option `cache` is the cache object, or undefined if the client has no cache. */
  readonly options: IdeaBoardOptions;
  readonly #defaults: RequestDefaults;
  readonly #fetch: Fetch;
  readonly #cache: ResponseCache | undefined;
  readonly #log: Log;
  readonly environment: Environment;
  readonly #budget: RetryBudget;

  constructor(options: IdeaBoardOptions, environment: Environment = defaultEnvironment, budget = new RetryBudget()) {
    checkOptions(options, optionNames);
    const { baseUrl, token, board, headers, validate, fetch, cache = false, logLevel, logger } = options;
    this.#defaults = { baseUrl: addressOf(baseUrl), token: bearerOf(token), board, headers, validate };
    // Reads the global fetch function at each call, because monitoring tools may replace it later. Browsers require
    // that fetch is called as a method of the window.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#cache = typeof cache === 'object' ? cache : cache ? new MemoryCache() : undefined;
    this.options = { ...options, cache: this.#cache };
    this.#log = new Log(logLevel, logger);
    this.environment = environment;
    this.#budget = budget;
  }

  withOptions(changes: Partial<IdeaBoardOptions>): Caller {
    return new Caller({ ...this.options, ...changes }, this.environment, this.#budget);
  }

  call<O extends OperationId>(id: O, input: CallInput<O>, options?: AnyCallOptions): Call<Operations[O]['result']> {
    return this.#start(knownOperation(id), input, options);
  }

  /** Returns the timeouts and the retry limits of a call with these options. */
  limitsOf(options: Limits): ResolvedLimits {
    return resolveLimits(this.options, options);
  }

  request<T>(request: ApiRequest, options?: AnyCallOptions): Call<T> {
    return this.#start(unknownOperation(request), request, options);
  }

  #start<T>(operation: Operation, input: CallInput | ApiRequest, options: AnyCallOptions = {}): Call<T> {
    return new Call(this.#run(operation, input, options));
  }

  async #run<T>(operation: Operation, input: CallInput | ApiRequest, options: AnyCallOptions): Promise<CallResult<T>> {
    const { now, random, sleep } = this.environment;
    if (!operation.id) checkOptions(input, ['method', 'path', 'query', 'body']);
    checkOptions(options, [
      ...callOptionNames,
      ...(operation.takesKey ? ['idempotencyKey'] : []),
      ...(operation.method === 'GET' ? ['etag'] : []),
    ]);
    const limits = this.limitsOf(options);
    const endsAt = now() + limits.totalTimeoutMs;
    const request = prepareRequest(operation, input, this.#defaults, options);
    for (let attempts = 1; ; attempts += 1) {
      try {
        const timeoutMs = Math.min(limits.timeoutMs, endsAt - now());
        const result = await this.#attempt<T>(request, attempts, timeoutMs, options);
        this.#budget.earn();
        return result;
      } catch (error) {
        if (!(error instanceof IdeaBoardError)) throw error;
        if (error.status !== undefined && error.status < 500) this.#budget.earn();
        const context = { request, limits, budget: this.#budget, leftMs: endsAt - now(), random };
        const delayMs = retryDelayMs(error, context);
        if (typeof delayMs !== 'number') throw delayMs === undefined ? error : this.#markSpent(error);
        this.#notify('onRetry', { ...eventOf(request, attempts), error, delayMs });
        await sleep(delayMs, options.signal);
      }
    }
  }

  async #attempt<T>(
    request: PreparedRequest,
    attempts: number,
    timeoutMs: number,
    { signal, fetchOptions }: AnyCallOptions,
  ): Promise<CallResult<T>> {
    const event = eventOf(request, attempts);
    const sentAt = this.environment.now();
    this.#notify('onRequest', event);
    const send = this.#sendWith({ ...this.options.fetchOptions, ...fetchOptions });
    const answer = await sendOnce(send, request, { timeoutMs, signal, attempts });
    const { status, headers } = answer;
    this.#log.warnOfDeprecation(request.operation, headers);
    this.#notify('onResponse', {
      ...event,
      status,
      durationMs: this.environment.now() - sentAt,
      requestId: requestIdOf(headers),
      rateLimit: readRateLimit(headers),
    });
    return readAnswer(request, answer, attempts);
  }

  #sendWith(fetchOptions: object): Send {
    const cache = this.#cache;
    return (request, signal) => {
      const send = (one: PreparedRequest) => sendWithFetch(this.#fetch, { ...fetchOptions }, one, signal);
      // The client does not cache pages of events. A program reads each page of events only once, so these pages would
      // only fill the cache.
      const isCacheable = request.method === 'GET' && !request.isConditional && request.operation !== 'listEvents';
      if (!cache || !isCacheable) return send(request);
      return sendWithCache(cache, request, send, error => this.#log.write('error', `The cache failed: ${error}`));
    };
  }

  #notify<Name extends keyof Hooks>(name: Name, event: Parameters<NonNullable<Hooks[Name]>>[0]) {
    for (const hooks of [this.#log.hooks, this.options.hooks]) {
      callHook(hooks, name, event, error => this.#log.write('error', `The hook ${name} failed: ${error}`));
    }
  }

  #markSpent(error: IdeaBoardError): IdeaBoardError {
    this.#log.write('warn', `${error.operation}: no retry, because the budget of retries is spent. ${error.message}`);
    return Object.assign(error, { isRetryBudgetSpent: true });
  }
}

function eventOf({ operation, method, url, idempotencyKey }: PreparedRequest, attempt: number) {
  return { operation, method, url, attempt, idempotencyKey };
}

function resolveLimits(...given: Limits[]): ResolvedLimits {
  const limits = { ...defaultLimits };
  for (const name of limitNames) {
    for (const one of given) limits[name] = one[name] ?? limits[name];
  }
  return limits;
}

/**
 * Checks and returns the base URL of all requests. The base URL must not contain credentials, because fetch rejects a
 * URL with credentials. The base URL must not contain a query or a fragment, because the path of each request is
 * appended to the base URL.
 */
function addressOf(baseUrl: unknown): string {
  try {
    const { protocol, origin, pathname, username, password, search, hash } = new URL(String(baseUrl));
    const isBare = `${username}${password}${search}${hash}` === '';
    // Removes /api/v1 from the end of the URL, because the path of each operation begins with /api/v1.
    if (/^https?:$/.test(protocol) && isBare)
      return `${origin}${pathname}`.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  } catch {
    // `baseUrl` is not a URL, so the code below throws a TypeError.
  }
  throw new TypeError('baseUrl must be an address such as https://ideas.example.com, without credentials or a query');
}

/**
 * Checks the token and returns it without white space around it, such as the line break at the end of a file. The error
 * message does not quote the value, because the value may be part of a token.
 */
function bearerOf(token: unknown): string {
  const bearer = typeof token === 'string' ? token.trim() : '';
  if (!/^[\x21-\x7e]+$/.test(bearer)) throw new TypeError('token must be an API token');
  return bearer;
}

const defaultEnvironment: Environment = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (milliseconds, signal) =>
    new Promise(resolve => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
