import type { OperationId, ValidationIssue } from './contract.ts';
import type { Hooks } from './hooks.ts';

/** The options of a client. */
export interface IdeaBoardOptions extends Limits {
  /** The address of the server, such as `https://ideas.example.com`. */
  baseUrl: string;
  /** An API token: `ib_<id>_<secret>`. */
  token: string;
  /** The slug of the board. Required for a token with several boards, unless each call names its board. */
  board?: string | undefined;
  /** Extra headers of every request, for example for a proxy. */
  headers?: HeadersInput | undefined;
  /** Functions that observe requests, responses and retries, for logs and metrics. */
  hooks?: Hooks | undefined;
  /** A replacement for the `fetch` of the runtime. */
  fetch?: Fetch | undefined;
  /**
   * Validates each request before it is sent, for example `validateRequest` of `@idea-board/client/validation`. By default
   * only the server validates requests.
   */
  validate?: RequestValidator | undefined;
}

/** Options of one call. They override the options of the client. */
export interface CallOptions extends Limits {
  /** The slug of the board. */
  board?: string | undefined;
  /** Aborts the call, also during the wait for a retry. */
  signal?: AbortSignal | undefined;
  headers?: HeadersInput | undefined;
}

/** Options of one call that writes. */
export interface WriteOptions extends CallOptions {
  /**
   * The server executes requests with the same key only once within 24 hours. By default each call has a new key, which
   * its retries share. Set your own key to deduplicate across calls and restarts.
   */
  idempotencyKey?: string | undefined;
}

/** Timeouts and retries. */
export interface Limits {
  /** The timeout of one request, in milliseconds. The default is 30,000. */
  timeoutMs?: number | undefined;
  /** The timeout of a call with its retries and waits, in milliseconds. The default is 120,000. */
  totalTimeoutMs?: number | undefined;
  /** The maximum number of retries. The default is 3, and 0 turns retries off. */
  maxRetries?: number | undefined;
  /** The maximum wait for a retry, in milliseconds. The default is 60,000. A longer Retry-After throws the error at once. */
  maxRetryDelayMs?: number | undefined;
}

export const defaultLimits = { timeoutMs: 30_000, totalTimeoutMs: 120_000, maxRetries: 3, maxRetryDelayMs: 60_000 };

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type HeadersInput = Readonly<Record<string, string>>;

/** The parts of a request before serialization. */
export interface RequestParts {
  params: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** Returns the parts of a request that do not match the contract. */
export type RequestValidator = (operation: OperationId, request: RequestParts) => readonly ValidationIssue[];
