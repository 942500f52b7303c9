import type { IdeaBoardError, OperationName } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * Functions that observe a client, for example for logs. A hook cannot change a call, and never receives the token or
 * the body of a request. If a hook throws an error, the client only logs the error. A failed hook must not make a
 * completed write fail.
 */
export interface Hooks {
  /** The client calls this before each request. */
  onRequest?(event: RequestEvent): unknown;
  /** The client calls this after each response, with any status. */
  onResponse?(event: ResponseEvent): unknown;
  /** The client calls this before it waits for a retry. */
  onRetry?(event: RetryEvent): unknown;
}

export interface RequestEvent {
  operation: OperationName;
  method: string;
  url: string;
  /** The number of this request within its call: 1 for the first request, 2 for the first retry. */
  attempt: number;
  idempotencyKey: string | undefined;
}

export interface ResponseEvent extends RequestEvent {
  status: number;
  durationMs: number;
  requestId: string | undefined;
  rateLimit: RateLimit | undefined;
}

export interface RetryEvent extends RequestEvent {
  /** The error that causes the retry. */
  error: IdeaBoardError;
  /** The wait before the retry, in milliseconds. */
  delayMs: number;
}

/** Calls a hook. Passes the errors of the hook to `onError`. */
export function callHook<Name extends keyof Hooks>(
  hooks: Hooks | undefined,
  name: Name,
  event: Parameters<NonNullable<Hooks[Name]>>[0],
  onError: (error: unknown) => void,
) {
  const hook = hooks?.[name] as ((event: unknown) => unknown) | undefined;
  if (!hook) return;
  try {
    Promise.resolve(hook.call(hooks, event)).catch(onError);
  } catch (error) {
    onError(error);
  }
}
