import type { OperationId, ValidationIssue } from './contract.ts';
import type { Hooks } from './hooks.ts';

/** What a client is made of. */
export interface IdeaBoardOptions extends Limits {
  /** Where the server is, such as `https://ideas.example.com`. */
  baseUrl: string;
  /** An API token: `ib_<id>_<secret>`. */
  token: string;
  /** The slug of the board. Needed for a token that grants more than one, unless each call names its board. */
  board?: string | undefined;
  /** Headers of every request, such as for a proxy in between. */
  headers?: HeadersInput | undefined;
  /** Told of requests, answers and retries, for logs and measurements. */
  hooks?: Hooks | undefined;
  /** Sends the requests, instead of the `fetch` of the runtime. */
  fetch?: Fetch | undefined;
  /**
   * Looks at each request before it is sent: `validateRequest` of `@idea-board/client/validation`. Without it the server
   * alone judges.
   */
  validate?: RequestValidator | undefined;
}

/** Options of one call; they win over the client's. */
export interface CallOptions extends Limits {
  /** The slug of the board. */
  board?: string | undefined;
  /** Gives the call up, wherever it is: also while it waits for its next try. */
  signal?: AbortSignal | undefined;
  headers?: HeadersInput | undefined;
}

/** Options of one call that changes something. */
export interface WriteOptions extends CallOptions {
  /**
   * The key under which the server does this once, however often it is asked within 24 hours. By default each call has
   * a new one, which its retries share. Give one of your own to be safe across calls, and across restarts.
   */
  idempotencyKey?: string | undefined;
}

/** How long, and how often. */
export interface Limits {
  /** How long one request may take, in milliseconds; 30,000 by default. */
  timeoutMs?: number | undefined;
  /** How long a call may take with its retries and the waits between them, in milliseconds; 120,000 by default. */
  totalTimeoutMs?: number | undefined;
  /** How often a request is sent again at most; 3 by default, 0 for never. */
  maxRetries?: number | undefined;
  /** The longest wait for a retry, in milliseconds; 60,000 by default. Whoever is asked to wait longer gets the error. */
  maxRetryDelayMs?: number | undefined;
}

export const defaultLimits = { timeoutMs: 30_000, totalTimeoutMs: 120_000, maxRetries: 3, maxRetryDelayMs: 60_000 };

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type HeadersInput = Readonly<Record<string, string>>;

/** What a request consists of, before it is written. */
export interface RequestParts {
  params: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/** Answers what of a request does not match the contract. */
export type RequestValidator = (operation: OperationId, request: RequestParts) => readonly ValidationIssue[];
