import type { Answer } from './attempt.ts';
import { type CallResult, notModified } from './call.ts';
import type { ErrorKey, ValidationIssue } from './contract.ts';
import { ApiError, type IdeaBoardError, UnexpectedAnswerError } from './errors.ts';
import { readRateLimit, readRetryAfter } from './rate-limit.ts';
import type { PreparedRequest } from './request.ts';

/** The maximum length of the response text that an UnexpectedAnswerError shows. */
const shownLength = 500;

/**
 * Returns the result of a successful response, or of the response 304 to a conditional request. For any other response,
 * throws the matching error.
 */
export function readAnswer<T>(request: PreparedRequest, answer: Answer, attempts: number): CallResult<T> {
  const { status, headers } = answer;
  // Unknown fields and values in the response body are valid, because a newer server may send them.
  const body = parseJson(answer.text);
  const isNotModified = status === 304 && request.isConditional;
  if (!isNotModified && !isSuccess(request, answer, body)) throw errorOf(request, answer, body, attempts);
  return {
    data: (isNotModified ? notModified : body) as T,
    status,
    headers,
    etag: headers.get('etag') ?? undefined,
    requestId: requestIdOf(headers),
    rateLimit: readRateLimit(headers),
    isReplay: headers.get('idempotency-replayed') === 'true',
    attempts,
  };
}

function isSuccess({ isKnown }: PreparedRequest, { status, text, isFromCache }: Answer, body: unknown): boolean {
  if ((status < 200 || status > 299) && !isFromCache) return false;
  // For an operation that this version of the client does not know, the body may be empty or any JSON value.
  return isKnown ? isObject(body) : text === '' || body !== undefined;
}

export function requestIdOf(headers: Headers): string | undefined {
  return headers.get('x-request-id') ?? undefined;
}

function errorOf(request: PreparedRequest, answer: Answer, body: unknown, attempts: number): IdeaBoardError {
  const { status, headers, text } = answer;
  const { operation } = request;
  const details = {
    operation,
    status,
    requestId: requestIdOf(headers),
    rateLimit: readRateLimit(headers),
    retryAfterMs: readRetryAfter(headers),
    attempts,
  };
  const error = isObject(body) && isObject(body.error) && status >= 400 ? body.error : undefined;
  if (typeof error?.key !== 'string') {
    const message = unexpectedMessage(answer);
    return new UnexpectedAnswerError({ ...details, message, text: text.slice(0, shownLength) });
  }
  return new ApiError({
    ...details,
    key: error.key as ErrorKey as never,
    message: typeof error.message === 'string' ? error.message : error.key,
    issues: Array.isArray(error.issues) ? (error.issues as ValidationIssue[]) : undefined,
    details: isObject(error.details) ? error.details : undefined,
  });
}

/**
 * Returns the message of an UnexpectedAnswerError. `fetch` does not follow redirects. A browser reports a redirect with
 * the status 0.
 */
function unexpectedMessage({ status, headers }: Answer): string {
  if (status === 304) return 'The server answered 304. Use the option etag instead of the header If-None-Match.';
  if (status !== 0 && (status < 300 || status > 399)) {
    return `The response with status ${status} does not have the form of the Agent API. Check baseUrl.`;
  }
  const location = headers.get('location');
  return `The server redirects${location === null ? '' : ` to ${location}`}. Set baseUrl to the final address.`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
