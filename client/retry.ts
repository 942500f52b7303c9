import type { IdeaBoardError } from './errors.ts';
import type { defaultLimits } from './options.ts';
import type { PreparedRequest } from './request.ts';

/** The first and the longest delay without Retry-After. Each delay is twice the one before. */
const firstBackoffMs = 500;
const longestBackoffMs = 8_000;

/** Random jitter, so that clients with the same Retry-After do not return at the same moment. */
const jitterMs = 1_000;

/** The input of the decision about a retry. */
export interface RetryContext {
  request: PreparedRequest;
  limits: typeof defaultLimits;
  budget: RetryBudget;
  /** The rest of the total timeout of the call, in milliseconds. */
  leftMs: number;
  /** From 0 up to 1. */
  random(): number;
}

/** The delay before the retry, in milliseconds. Undefined if the error is final. */
export function retryDelayMs(error: IdeaBoardError, context: RetryContext): number | undefined {
  const { limits, budget, request, leftMs, random } = context;
  const reason = retryReason(error);
  if (!reason || error.attempts > limits.maxRetries) return undefined;
  // A rejected request was not executed. A failed one may have been, so it must be repeatable.
  if (reason === 'failed' && !request.isRepeatable) return undefined;
  const delayMs = error.retryAfterMs
    ? error.retryAfterMs + random() * jitterMs
    : backoffMs(error.attempts, limits.maxRetryDelayMs) * (0.5 + random() / 2);
  if ((error.retryAfterMs ?? 0) > limits.maxRetryDelayMs || delayMs >= leftMs) return undefined;
  if (reason === 'failed' && !budget.take()) return undefined;
  return Math.round(delayMs);
}

function retryReason({ key, status }: IdeaBoardError): 'refused' | 'failed' | undefined {
  if (status === 429 || key === 'idempotency_key_in_use') return 'refused';
  // A gateway answers 502 and 504 if it cannot reach the server.
  if (status === 502 || status === 503 || status === 504) return 'failed';
  return key === 'connection_failed' || key === 'timed_out' ? 'failed' : undefined;
}

function backoffMs(attempts: number, longestMs: number): number {
  return Math.min(firstBackoffMs * 2 ** (attempts - 1), longestBackoffMs, longestMs);
}

/**
 * Limits the retries after failures: at most ten, plus one for every ten answered calls. Otherwise the retries of all
 * clients could keep an overloaded server down.
 */
export class RetryBudget {
  /** In tenths of a retry. */
  #left = budgetCapacity;

  take(): boolean {
    if (this.#left < 10) return false;
    this.#left -= 10;
    return true;
  }

  /** Counts an answered call. */
  earn() {
    this.#left = Math.min(budgetCapacity, this.#left + 1);
  }
}

const budgetCapacity = 100;
