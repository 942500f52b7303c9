import type { ResponseCache } from './cache.ts';
import type { OperationId, ValidationIssue } from './contract.ts';
import type { Hooks } from './hooks.ts';
import type { Logger, LogLevel } from './log.ts';

/** The options of a client. */
export interface IdeaBoardOptions extends Limits {
  /** The URL of the server, such as `https://ideas.example.com`. The URL can end with `/api/v1`. */
  baseUrl: string;
  /** An API token of the form `ib_<id>_<secret>`. */
  token: string;
  /** The slug of the board. If the token gives access to several boards, set the board here or in each call. */
  board?: string | undefined;
  /** Additional headers of every request, for example for a proxy. */
  headers?: HeadersInput | undefined;
  /** Functions that observe requests, responses and retries, for logs and metrics. */
  hooks?: Hooks | undefined;
  /** A function to use instead of the `fetch` of the runtime. */
  fetch?: Fetch | undefined;
  /** Additional options of every `fetch`, for example a proxy. */
  fetchOptions?: FetchOptions | undefined;
  /**
   * A cache for the responses of reads. Before the client uses a cached response, the client asks the server whether
   * the response is still current. `true` creates a `MemoryCache`. By default the client has no cache.
   */
  cache?: boolean | ResponseCache | undefined;
  /** The amount of log messages. The default is the environment variable `IDEA_BOARD_LOG`, or else `off`. */
  logLevel?: LogLevel | undefined;
  /** An object that writes the log messages. The default is `console`. */
  logger?: Logger | undefined;
  /**
   * A function that validates each request before it is sent, for example `validateRequest` of
   * `@idea-board/contract/validation`. By default only the server validates requests.
   */
  validate?: RequestValidator | undefined;
}

/** The options of one call. These options override the options of the client. */
export interface CallOptions extends Limits {
  /** The slug of the board. */
  board?: string | undefined;
  /** A signal that aborts the call, even while it waits for a retry. */
  signal?: AbortSignal | undefined;
  headers?: HeadersInput | undefined;
  /** Additional options of `fetch` for this call. They override the `fetchOptions` of the client. */
  fetchOptions?: FetchOptions | undefined;
}

/** The options of a read that can reuse an earlier response. */
export interface ConditionalOptions extends CallOptions {
  /**
   * The `etag` of an earlier response. If the data has not changed since that response, the call resolves to
   * `notModified` and does not count against the rate limit. A call with an `etag` does not use the cache of the
   * client.
   */
  etag: string | undefined;
}

/** The options of one call that writes. */
export interface WriteOptions extends CallOptions {
  /**
   * A key for the request. The server executes requests with the same key only once within 24 hours. By default each
   * call has a new key, and its retries use the same key. Set your own key to avoid duplicates across calls and
   * restarts.
   */
  idempotencyKey?: string | undefined;
}

/** The limits of a call: its timeouts and its retries. */
export interface Limits {
  /** The timeout of one request, in milliseconds. The default is 30,000. */
  timeoutMs?: number | undefined;
  /** The timeout of a call with all its retries and waits, in milliseconds. The default is 120,000. */
  totalTimeoutMs?: number | undefined;
  /** The maximum number of retries. The default is 3, and 0 turns retries off. */
  maxRetries?: number | undefined;
  /**
   * The maximum wait before a retry, in milliseconds. The default is 60,000. If the server requests a longer wait, the
   * call does not wait but throws the error.
   */
  maxRetryDelayMs?: number | undefined;
}

export const defaultLimits = { timeoutMs: 30_000, totalTimeoutMs: 120_000, maxRetries: 3, maxRetryDelayMs: 60_000 };

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Options for `fetch`, including options that only some runtimes have, such as `dispatcher`. Excludes the options that
 * the client sets itself.
 */
export type FetchOptions = Omit<RequestInit, 'method' | 'headers' | 'body' | 'signal' | 'redirect'> & {
  readonly [option: string]: unknown;
};

export type HeadersInput = Readonly<Record<string, string>>;

/** The parts of a request before serialization. */
export interface RequestParts {
  params: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** Returns a validation issue for each part of a request that does not match the contract. */
export type RequestValidator = (operation: OperationId, request: RequestParts) => readonly ValidationIssue[];

/** A request to an operation that this version of the package may not know. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path without a query, such as `/api/v1/ideas/7/reactions`. */
  path: string;
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** The body of the request. The client sends this value as JSON. */
  body?: unknown;
}
