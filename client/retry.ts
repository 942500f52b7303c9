import type { IdeaBoardError } from './errors.ts';
import type { defaultLimits } from './options.ts';
import type { WrittenRequest } from './request.ts';

/** The first wait for a server that does not say how long, and the longest; each is twice the one before. */
const firstBackoffMs = 500;
const longestBackoffMs = 8_000;

/** Clients that were told the same moment do not all come back in it. */
const spreadMs = 1_000;

/** What a retry is decided by. */
export interface RetrySituation {
  request: WrittenRequest;
  limits: typeof defaultLimits;
  budget: RetryBudget;
  /** How much of the call's whole time is left, in milliseconds. */
  leftMs: number;
  /** From 0 up to 1. */
  random(): number;
}

/** How long to wait before the request is sent again, in milliseconds; undefined when the error is final. */
export function retryDelayMs(error: IdeaBoardError, situation: RetrySituation): number | undefined {
  const { limits, budget, request, leftMs, random } = situation;
  const reason = retryReason(error);
  if (!reason || error.attempts > limits.maxRetries) return undefined;
  // What was refused was not done, and can be sent again. Of a failure nobody knows, unless the server can tell.
  if (reason === 'failed' && !request.isRepeatable) return undefined;
  const delayMs = error.retryAfterMs
    ? error.retryAfterMs + random() * spreadMs
    : backoffMs(error.attempts, limits.maxRetryDelayMs) * (0.5 + random() / 2);
  if ((error.retryAfterMs ?? 0) > limits.maxRetryDelayMs || delayMs >= leftMs) return undefined;
  if (reason === 'failed' && !budget.take()) return undefined;
  return Math.round(delayMs);
}

function retryReason({ key, status }: IdeaBoardError): 'refused' | 'failed' | undefined {
  if (status === 429 || key === 'idempotency_key_in_use') return 'refused';
  // 502 and 504 are what a gateway answers for a server that it cannot reach.
  if (status === 502 || status === 503 || status === 504) return 'failed';
  return key === 'connection_failed' || key === 'timed_out' ? 'failed' : undefined;
}

function backoffMs(attempts: number, longestMs: number): number {
  return Math.min(firstBackoffMs * 2 ** (attempts - 1), longestBackoffMs, longestMs);
}

/**
 * How many failures a client answers with a retry: ten, and then one for every ten calls that were answered. While a
 * server is down, the retries of its clients would only keep it there.
 */
export class RetryBudget {
  /** In tenths of a retry, so that ten of them are one. */
  #left = budgetCapacity;

  take(): boolean {
    if (this.#left < 10) return false;
    this.#left -= 10;
    return true;
  }

  /** For a call that was answered. */
  earn() {
    this.#left = Math.min(budgetCapacity, this.#left + 1);
  }
}

const budgetCapacity = 100;
