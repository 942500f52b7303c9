import type { ErrorKey, OperationId, Operations, ValidationIssue } from './contract.ts';
import type { RateLimit } from './rate-limit.ts';

/** Shared by all copies of this package that a program may have loaded. */
const mark = Symbol.for('@idea-board/client: error');

/**
 * Tells the errors of this package from all others. With the name of an operation, only what a call of that operation
 * throws, so that a `switch` over its `key` can be exhaustive:
 *
 * ```ts
 * if (isIdeaBoardError(error, 'createIdea') && error.key === 'board_frozen') await saveForLater(input);
 * ```
 */
export function isIdeaBoardError(error: unknown): error is IdeaBoardError;
export function isIdeaBoardError<O extends OperationId>(error: unknown, operation: O): error is OperationError<O>;
export function isIdeaBoardError(error: unknown, operation?: OperationId): boolean {
  if (typeof error !== 'object' || error === null || !(mark in error)) return false;
  return operation === undefined || ('operation' in error && error.operation === operation);
}

/** The keys of the API's errors that an operation can end in. */
export type ErrorKeyOf<O extends OperationId> = Operations[O]['errorKey'];

/** Everything that a call of an operation can throw, told apart by `key`. */
export type OperationError<O extends OperationId = OperationId> =
  | ApiError<O>
  | UnexpectedAnswerError
  | ConnectionError
  | TimeoutError
  | AbortError
  | InvalidRequestError;

export type WebhookErrorKey =
  | 'invalid_secret'
  | 'missing_header'
  | 'timestamp_out_of_tolerance'
  | 'signature_mismatch'
  | 'malformed_payload';

/** What is known of a failure; which of it there is depends on how far the call got. */
export interface ErrorDetails {
  message: string;
  operation?: OperationId | undefined;
  status?: number | undefined;
  issues?: readonly ValidationIssue[] | undefined;
  requestId?: string | undefined;
  rateLimit?: RateLimit | undefined;
  retryAfterMs?: number | undefined;
  attempts?: number | undefined;
  cause?: unknown;
}

/** What every error of this package is. */
export abstract class IdeaBoardError extends Error {
  /** What went wrong: the API's error key, or one of this package's own where the API did not answer. */
  abstract readonly key: ErrorKey | OperationError['key'] | WebhookErrorKey;
  /** The operation that was called, by its `operationId` in the OpenAPI document. */
  readonly operation: OperationId | undefined;
  /** The HTTP status of the last answer, if there was one. */
  readonly status: number | undefined;
  /** What of the request does not match its schema. Empty for every other reason. */
  readonly issues: readonly ValidationIssue[];
  /** Identifies the last request in the log of the server. */
  readonly requestId: string | undefined;
  readonly rateLimit: RateLimit | undefined;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** How many requests were sent. */
  readonly attempts: number;

  constructor(details: ErrorDetails) {
    super(details.message, 'cause' in details ? { cause: details.cause } : undefined);
    this.operation = details.operation;
    this.status = details.status;
    this.issues = details.issues ?? [];
    this.requestId = details.requestId;
    this.rateLimit = details.rateLimit;
    this.retryAfterMs = details.retryAfterMs;
    this.attempts = details.attempts ?? 0;
    Object.defineProperty(this, mark, { value: true });
  }
}

/** The API refused, or failed. A newer server may answer with a `key` that these types do not know. */
export class ApiError<O extends OperationId = OperationId> extends IdeaBoardError {
  override readonly key: ErrorKeyOf<O>;
  declare readonly operation: O;
  declare readonly status: number;

  constructor(details: ErrorDetails & { key: ErrorKeyOf<O>; operation: O; status: number }) {
    super(details);
    this.key = details.key;
  }
}

/** Something answered that is not the API: a proxy, a sign-in page, a server at another address. */
export class UnexpectedAnswerError extends IdeaBoardError {
  override readonly key = 'unexpected_answer';
  declare readonly operation: OperationId;
  declare readonly status: number;
  /** The beginning of what was answered. */
  readonly text: string;

  constructor(details: ErrorDetails & { operation: OperationId; status: number; text: string }) {
    super(details);
    this.text = details.text;
  }
}

/** No answer arrived; `cause` is what the runtime says of it. */
export class ConnectionError extends IdeaBoardError {
  override readonly key = 'connection_failed';
  declare readonly operation: OperationId;
}

/** No answer arrived in time. */
export class TimeoutError extends IdeaBoardError {
  override readonly key = 'timed_out';
  declare readonly operation: OperationId;
}

/** The call was given up through its signal; `cause` is the reason of the signal. */
export class AbortError extends IdeaBoardError {
  override readonly key = 'aborted';
  declare readonly operation: OperationId;
}

/** Nothing was sent, because it could not be right; `issues` say why. */
export class InvalidRequestError extends IdeaBoardError {
  override readonly key = 'invalid_request';
  declare readonly operation: OperationId;
}

/** A webhook is not what it claims to be, or cannot be read. */
export class WebhookVerificationError extends IdeaBoardError {
  override readonly key: WebhookErrorKey;

  constructor(details: ErrorDetails & { key: WebhookErrorKey }) {
    super(details);
    this.key = details.key;
  }
}

const names = {
  ApiError,
  UnexpectedAnswerError,
  ConnectionError,
  TimeoutError,
  AbortError,
  InvalidRequestError,
  WebhookVerificationError,
};

// A bundler renames classes, and then an error would be printed under a name that says nothing.
for (const [name, type] of Object.entries(names)) type.prototype.name = name;
