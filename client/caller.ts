import { readAnswer, requestIdOf } from './answer.ts';
import { sendOnce } from './attempt.ts';
import { Call, type CallResult } from './call.ts';
import type { OperationId, Operations } from './contract.ts';
import { IdeaBoardError } from './errors.ts';
import { callHook } from './hooks.ts';
import { defaultLimits, type Fetch, type IdeaBoardOptions, type Limits, type WriteOptions } from './options.ts';
import { readRateLimit } from './rate-limit.ts';
import { type CallInput, type PreparedRequest, prepareRequest, type RequestDefaults } from './request.ts';
import { RetryBudget, retryDelayMs } from './retry.ts';

/** The clock, the random numbers and the timer of the runtime. Tests replace them. */
export interface Environment {
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
  /** Returns a random number from 0 up to 1. */
  random(): number;
  sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void>;
}

type ResolvedLimits = typeof defaultLimits;

/** Calls operations of the API: sends requests, retries them if that is safe and useful, and reads the responses. */
export class Caller {
  readonly #options: IdeaBoardOptions;
  readonly #defaults: RequestDefaults;
  readonly #fetch: Fetch;
  readonly #environment: Environment;
  readonly #budget = new RetryBudget();

  constructor(options: IdeaBoardOptions, environment: Environment = defaultEnvironment) {
    const { baseUrl, token, board, headers, validate, fetch } = options;
    this.#options = options;
    this.#defaults = { baseUrl: addressOf(baseUrl), token: bearerOf(token), board, headers, validate };
    // Reads the global fetch function at each call, because monitoring tools may replace it later. In a browser, fetch
    // must be called on its window.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#environment = environment;
  }

  call<O extends OperationId>(
    operation: O,
    input: CallInput<O>,
    options: WriteOptions = {},
  ): Call<Operations[O]['result']> {
    return new Call(this.#run(operation, input, options));
  }

  async #run<O extends OperationId>(
    operation: O,
    input: CallInput<O>,
    options: WriteOptions,
  ): Promise<CallResult<Operations[O]['result']>> {
    const { now, random, sleep } = this.#environment;
    const limits = resolveLimits(this.#options, options);
    const endsAt = now() + limits.totalTimeoutMs;
    const request = prepareRequest(operation, input, this.#defaults, options);
    for (let attempts = 1; ; attempts += 1) {
      try {
        const timeoutMs = Math.min(limits.timeoutMs, endsAt - now());
        const result = await this.#attempt<O>(request, attempts, timeoutMs, options.signal);
        this.#budget.earn();
        return result;
      } catch (error) {
        if (!(error instanceof IdeaBoardError)) throw error;
        if (error.status !== undefined && error.status < 500) this.#budget.earn();
        const context = { request, limits, budget: this.#budget, leftMs: endsAt - now(), random };
        const delayMs = retryDelayMs(error, context);
        if (delayMs === undefined) throw error;
        callHook(this.#options.hooks, 'onRetry', { ...eventOf(request, attempts), error, delayMs });
        await sleep(delayMs, options.signal);
      }
    }
  }

  async #attempt<O extends OperationId>(
    request: PreparedRequest,
    attempts: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<CallResult<Operations[O]['result']>> {
    const { hooks } = this.#options;
    const event = eventOf(request, attempts);
    const sentAt = this.#environment.now();
    callHook(hooks, 'onRequest', event);
    const answer = await sendOnce(this.#fetch, request, { timeoutMs, signal, attempts });
    const { status, headers } = answer;
    callHook(hooks, 'onResponse', {
      ...event,
      status,
      durationMs: this.#environment.now() - sentAt,
      requestId: requestIdOf(headers),
      rateLimit: readRateLimit(headers),
    });
    return readAnswer(request, answer, attempts);
  }
}

function eventOf({ operation, method, url, idempotencyKey }: PreparedRequest, attempt: number) {
  return { operation, method, url, attempt, idempotencyKey };
}

function resolveLimits(...given: Limits[]): ResolvedLimits {
  const limits = { ...defaultLimits };
  for (const name of Object.keys(limits) as (keyof ResolvedLimits)[]) {
    for (const one of given) limits[name] = one[name] ?? limits[name];
  }
  return limits;
}

/**
 * Checks and returns the base URL of all requests. It must not have credentials, because fetch rejects them. It must
 * not have a query or a fragment, because the path of a request would become part of them.
 */
function addressOf(baseUrl: unknown): string {
  try {
    const { protocol, origin, pathname, username, password, search, hash } = new URL(String(baseUrl));
    const isBare = `${username}${password}${search}${hash}` === '';
    if (/^https?:$/.test(protocol) && isBare) return `${origin}${pathname}`.replace(/\/+$/, '');
  } catch {
    // The value is not a URL.
  }
  throw new TypeError('baseUrl must be an address such as https://ideas.example.com, without credentials or a query');
}

/**
 * Checks the token and returns it without white space around it, such as the line break at the end of a file. The error
 * does not quote the value, because the value may be part of a token.
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
