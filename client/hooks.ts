import type { OperationId } from './contract.ts';
import type { IdeaBoardError } from './errors.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * Functions that are told what a client does. They change nothing, and what they throw is dropped: a log that fails must
 * not fail a write that was done. None of them sees the token or a body.
 */
export interface Hooks {
  /** Before each request is sent. */
  onRequest?(event: RequestEvent): unknown;
  /** After each answer, whatever its status. */
  onResponse?(event: ResponseEvent): unknown;
  /** Before each wait for another try. */
  onRetry?(event: RetryEvent): unknown;
}

export interface RequestEvent {
  operation: OperationId;
  method: string;
  url: string;
  /** 1 for the first request of a call. */
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
  /** Why there is another try. */
  error: IdeaBoardError;
  /** How long it is waited for, in milliseconds. */
  delayMs: number;
}

/** Tells a hook, and goes on whatever it does. */
export function tell<Name extends keyof Hooks>(
  hooks: Hooks | undefined,
  name: Name,
  event: Parameters<NonNullable<Hooks[Name]>>[0],
) {
  const hook = hooks?.[name] as ((event: unknown) => unknown) | undefined;
  if (!hook) return;
  try {
    Promise.resolve(hook.call(hooks, event)).catch(() => {});
  } catch {
    // What a log throws is its own affair.
  }
}
