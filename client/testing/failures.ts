import type { ErrorKeyOf, OperationId } from '@idea-board/client';
import { type DetailsOf, type ErrorKey, errorDetails, errors } from '@idea-board/contract';
import { Refusal } from './refusal.ts';

/**
 * The failures that a test can plan for an operation: the operation's error keys, and the failures without an API
 * answer.
 */
export type FailureKeyOf<O extends OperationId> = ErrorKeyOf<O> | TransportFailure;

/** The failures without an answer of the API. `@idea-board/client` throws an error with the same key. */
type TransportFailure = 'connection_failed' | 'timed_out' | 'unexpected_answer';

export interface FailOptions {
  /** The number of requests that fail. The default is 1. Pass Infinity to let every request fail. */
  times?: number | undefined;
  /**
   * The value of the header `Retry-After`, in seconds. Only `rate_limited`, `too_many_waits` and `service_unavailable`
   * have this header. The default is 1.
   */
  retryAfterSeconds?: number | undefined;
}

interface Failure {
  key: ErrorKey | TransportFailure;
  timesLeft: number;
  retryAfterSeconds: number;
}

/** The failures that a test has planned, by operation. */
export class Failures {
  readonly #planned = new Map<string, Failure[]>();

  plan(operation: string, key: Failure['key'], { times = 1, retryAfterSeconds = 1 }: FailOptions) {
    const failures = this.#planned.get(operation) ?? [];
    this.#planned.set(operation, [...failures, { key, timesLeft: times, retryAfterSeconds }]);
  }

  /**
   * Finds the next planned failure of an operation, and reduces the failure's remaining uses by one. Throws a Refusal
   * if the failure is an error key of the API. Returns any other failure, or undefined if no failure is planned.
   */
  take(operation: string): TransportFailure | undefined {
    const [failure, ...others] = this.#planned.get(operation) ?? [];
    if (!failure) return undefined;
    failure.timesLeft -= 1;
    if (failure.timesLeft <= 0) this.#planned.set(operation, others);
    if (isOfTransport(failure.key)) return failure.key;
    throw refusalOf(failure.key, failure.retryAfterSeconds);
  }
}

function isOfTransport(key: Failure['key']): key is TransportFailure {
  return key === 'connection_failed' || key === 'timed_out' || key === 'unexpected_answer';
}

/** Returns the error that the API would send. The error's `details` come from the example in the contract. */
function refusalOf(key: ErrorKey, retryAfterSeconds: number): Refusal {
  const schema = key in errorDetails ? errorDetails[key as keyof typeof errorDetails] : undefined;
  const example = schema?.meta()?.examples as unknown[] | undefined;
  const waits = [429, 503].includes(errors[key].status);
  const details = example && {
    ...(example[0] as object),
    ...(key === 'rate_limited' ? { retry_after: retryAfterSeconds } : {}),
  };
  return new Refusal(key, {
    details: details as DetailsOf<ErrorKey>,
    headers: waits ? { 'retry-after': String(retryAfterSeconds) } : {},
    ...(key === 'validation_failed'
      ? { issues: [{ path: ['body'], code: 'custom', message: 'The test server was told to refuse this request' }] }
      : {}),
  });
}
