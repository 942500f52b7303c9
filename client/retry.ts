import type { IdeaBoardError } from './errors.ts';
import type { defaultLimits } from './options.ts';
import type { PreparedRequest } from './request.ts';

/**
 * The first and the longest delay if the response has no Retry-After header. Each delay is twice as long as the
 * previous delay. The client then shortens each delay by a random time, which is at most half of the delay.
 */
const firstBackoffMs = 500;
const longestBackoffMs = 8_000;

/** The maximum random delay after Retry-After, so that clients with the same Retry-After return at different times. */
const jitterMs = 1_000;

/** The facts that decide whether and when the client retries a request. */
export interface RetryContext {
  request: PreparedRequest;
  limits: typeof defaultLimits;
  budget: RetryBudget;
  /** The remaining part of the call's total timeout, in milliseconds. */
  leftMs: number;
  /** Returns a random number from 0 up to 1. */
  random(): number;
}

/**
 * Returns the delay before the retry, in milliseconds. Returns undefined if the client must not retry the request.
 * Returns `budget spent` if only the spent retry budget prevents the retry.
 */
export function retryDelayMs(error: IdeaBoardError, context: RetryContext): number | 'budget spent' | undefined {
  const { limits, budget, request, leftMs, random } = context;
  const reason = retryReason(error);
  if (!reason || error.attempts > limits.maxRetries) return undefined;
  // The reason `refused` means that the server has not executed the request. After the reason `failed`, the server may
  // have executed the request, so the client retries only a repeatable request.
  if (reason === 'failed' && !request.isRepeatable) return undefined;
  const delayMs = error.retryAfterMs
    ? error.retryAfterMs + random() * jitterMs
    : backoffMs(error.attempts, limits.maxRetryDelayMs) * (0.5 + random() / 2);
  if ((error.retryAfterMs ?? 0) > limits.maxRetryDelayMs || delayMs >= leftMs) return undefined;
  if (reason === 'failed' && !budget.take()) return 'budget spent';
  return Math.round(delayMs);
}

/** Whether the same request may succeed if the client sends it again. */
export function isTransient(error: IdeaBoardError): boolean {
  return retryReason(error) !== undefined;
}

function retryReason({ key, status }: IdeaBoardError): 'refused' | 'failed' | undefined {
  if (status === 429 || key === 'idempotency_key_in_use') return 'refused';
  // Includes 502 and 504, because a gateway answers with these statuses if it cannot reach the server.
  if (status === 500 || status === 502 || status === 503 || status === 504) return 'failed';
  return key === 'connection_failed' || key === 'timed_out' ? 'failed' : undefined;
}

function backoffMs(attempts: number, longestMs: number): number {
  return Math.min(firstBackoffMs * 2 ** (attempts - 1), longestBackoffMs, longestMs);
}

/**
 * Limits a client's retries after failures. The budget holds at most ten retries. Each answer with a status below 500
 * adds a tenth of a retry. Without this limit, the retries of all clients could keep an overloaded server down.
 */
export class RetryBudget {
  /** The remaining budget in tenths of a retry. */
  #left = budgetCapacity;

  take(): boolean {
    if (this.#left < 10) return false;
    this.#left -= 10;
    return true;
  }

  /** Adds a tenth of a retry to the budget, because the server answered a request. */
  earn() {
    this.#left = Math.min(budgetCapacity, this.#left + 1);
  }
}

const budgetCapacity = 100;
