import type { DetailsByKey, ErrorKey, OperationId, Operations, ValidationIssue } from './contract.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * A symbol that identifies this package's errors. All loaded copies of the package use the same symbol, so that they
 * recognize each other's errors.
 */
const mark = Symbol.for('@idea-board/client: error');

/**
 * Returns whether a value is an error of this package. If the argument `operation` is given, the function returns true
 * only for an error of that operation. The function also narrows the type, so that a `switch` over `key` can be
 * exhaustive:
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

/** The name of an operation: its `operationId`, or for `client.request()` the method and the path. */
export type OperationName = OperationId | `${string} /${string}`;

/** The keys of the API errors that an operation can return. */
export type ErrorKeyOf<O extends OperationName> = O extends OperationId ? Operations[O]['errorKey'] : ErrorKey;

/** The type of `details` of an API error. The type is undefined for error keys without details. */
export type DetailsOf<K> = K extends keyof DetailsByKey ? DetailsByKey[K] : undefined;

/** The API errors that an operation can return, with a separate type for each error key. */
export type ApiErrorOf<O extends OperationId> = { [K in ErrorKeyOf<O>]: ApiError<O, K> }[ErrorKeyOf<O>];

/** All errors of this package that a call of an operation can throw. A check of `key` narrows the type. */
export type OperationError<O extends OperationId = OperationId> =
  | ApiErrorOf<O>
  | UnexpectedAnswerError
  | ConnectionError
  | TimeoutError
  | AbortError
  | InvalidRequestError;

export type WebhookErrorKey =
  | 'missing_header'
  | 'timestamp_out_of_tolerance'
  | 'signature_mismatch'
  | 'malformed_payload';

/**
 * The properties of a new error, for its constructor. If the error occurred before a response arrived, some properties
 * are missing.
 */
export interface ErrorDetails {
  message: string;
  operation?: OperationName | undefined;
  status?: number | undefined;
  issues?: readonly ValidationIssue[] | undefined;
  details?: unknown;
  requestId?: string | undefined;
  rateLimit?: RateLimit | undefined;
  retryAfterMs?: number | undefined;
  attempts?: number | undefined;
  cause?: unknown;
}

/** The base class of all errors of this package. */
export abstract class IdeaBoardError extends Error {
  /**
   * The error key of the API. If the client got no error response of the API, this is a key that this package defines.
   */
  abstract readonly key: ErrorKey | OperationError['key'] | WebhookErrorKey | 'invalid_configuration';
  /** The `operationId` of the called operation in the OpenAPI document. For `request()`, the method and the path. */
  readonly operation: OperationName | undefined;
  /** The HTTP status of the response that caused the error. Undefined if no response caused the error. */
  readonly status: number | undefined;
  /** The invalid parts of the request. The list is empty unless `key` is `validation_failed` or `invalid_request`. */
  readonly issues: readonly ValidationIssue[];
  /** The id of the failed request, from the headers of its response. The server's log has the same id. */
  readonly requestId: string | undefined;
  readonly rateLimit: RateLimit | undefined;
  /** The delay that the server requested before a retry, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The number of requests that the call has sent. */
  readonly attempts: number;
  /** Whether the client did not retry the request because the client's retry budget was spent. */
  readonly isRetryBudgetSpent: boolean = false;

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

/**
 * An error response of the API. Its `message` is one line for logs. A newer server may send a `key` that these types do
 * not include.
 */
export class ApiError<
  O extends OperationName = OperationName,
  K extends ErrorKeyOf<O> = ErrorKeyOf<O>,
> extends IdeaBoardError {
  override readonly key: K;
  /**
   * The error message that the server sent. `message` contains this text and also the operation, the status and the
   * key.
   */
  readonly serverMessage: string;
  /**
   * Details that help to correct the request, such as the list of the board's tags. An older server does not send these
   * details.
   */
  readonly details: DetailsOf<K> | undefined;
  declare readonly operation: O;
  declare readonly status: number;

  constructor(details: ErrorDetails & { key: K; operation: O; status: number }) {
    super({ ...details, message: lineOf(details) });
    this.key = details.key;
    this.serverMessage = details.message;
    this.details = details.details as DetailsOf<K> | undefined;
  }
}

/** The maximum number of validation issues in the message of an error. */
const mostIssues = 5;

/** Returns the operation, the status, the key, the server's message, the issues and the request id in one line. */
function lineOf({ operation, status, key, message, issues = [], requestId }: ErrorDetails & { key: string }): string {
  const reasons = issues.slice(0, mostIssues).map(issue => `${issue.path.join('.')}: ${issue.message}`);
  if (issues.length > mostIssues) reasons.push(`and ${issues.length - mostIssues} more`);
  const sentences = [message, reasons.join('; '), requestId === undefined ? '' : `Request id: ${requestId}`]
    .map(part => part.replaceAll(/\s+/g, ' ').trim())
    .filter(part => part !== '')
    .map(part => (/[.!?]$/.test(part) ? part : `${part}.`));
  return [`${operation} failed with ${status} ${key}:`, ...sentences].join(' ');
}

/**
 * The error of a call whose response is not in the API's format, for example a response from a proxy or a sign-in page.
 */
export class UnexpectedAnswerError extends IdeaBoardError {
  override readonly key = 'unexpected_answer';
  declare readonly operation: OperationName;
  declare readonly status: number;
  /** The beginning of the text of the response body. */
  readonly text: string;

  constructor(details: ErrorDetails & { operation: OperationName; status: number; text: string }) {
    super(details);
    this.text = details.text;
  }
}

/**
 * The error of a call whose connection failed before the complete response arrived. `cause` is the error that the
 * runtime threw.
 */
export class ConnectionError extends IdeaBoardError {
  override readonly key = 'connection_failed';
  declare readonly operation: OperationName;
}

/** The error of a call that timed out before the complete response arrived. */
export class TimeoutError extends IdeaBoardError {
  override readonly key = 'timed_out';
  declare readonly operation: OperationName;
}

/** The error of a call that was aborted through its signal. `cause` is the `reason` of the signal. */
export class AbortError extends IdeaBoardError {
  override readonly key = 'aborted';
  declare readonly operation: OperationName;
}

/** The error of a request that the client did not send because it is invalid. `issues` lists the invalid parts. */
export class InvalidRequestError extends IdeaBoardError {
  override readonly key = 'invalid_request';
  declare readonly operation: OperationName;
}

/** The error of a webhook that is not authentic or cannot be read. */
export class WebhookVerificationError extends IdeaBoardError {
  override readonly key: WebhookErrorKey;

  constructor(details: ErrorDetails & { key: WebhookErrorKey }) {
    super(details);
    this.key = details.key;
  }
}

/** The error of `verifyWebhook` and `signWebhook` if the webhook secret is missing or invalid. */
export class ConfigurationError extends IdeaBoardError {
  override readonly key = 'invalid_configuration';
}

const names = {
  ApiError,
  UnexpectedAnswerError,
  ConnectionError,
  TimeoutError,
  AbortError,
  InvalidRequestError,
  WebhookVerificationError,
  ConfigurationError,
};

// Sets the names of the errors, because a bundler may rename the classes.
for (const [name, type] of Object.entries(names)) type.prototype.name = name;
