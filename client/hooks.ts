import type { OperationId } from './contract.ts';
import type { IdeaBoardError } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * Functions that observe a client, for example for logs. A hook cannot change a call, and never receives the token or
 * the body of a request. Errors of a hook are ignored, because a failing log must not fail a completed write.
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
  operation: OperationId;
  method: string;
  url: string;
  /** The number of the request in its call, starting with 1. */
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

/** Calls a hook and ignores its errors. */
export function callHook<Name extends keyof Hooks>(
  hooks: Hooks | undefined,
  name: Name,
  event: Parameters<NonNullable<Hooks[Name]>>[0],
) {
  const hook = hooks?.[name] as ((event: unknown) => unknown) | undefined;
  if (!hook) return;
  try {
    Promise.resolve(hook.call(hooks, event)).catch(() => {});
  } catch {
    // A failing hook must not fail the call.
  }
}
