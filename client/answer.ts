import type { Answer } from './attempt.ts';
import type { CallResult } from './call.ts';
import type { ErrorKey, ValidationIssue } from './contract.ts';
import { ApiError, type IdeaBoardError, UnexpectedAnswerError } from './errors.ts';
import { readRateLimit, readRetryAfter } from './rate-limit.ts';
import type { WrittenRequest } from './request.ts';

/** How much of an answer that is none of the API's an error carries. */
const shownLength = 500;

/** Reads an answer: the result of a success, or throws what the answer says went wrong. */
export function readAnswer<T>(request: WrittenRequest, answer: Answer, attempts: number): CallResult<T> {
  const { status, headers } = answer;
  const body = parseJson(answer.text);
  // Unknown fields and values pass: within v1 a server may answer with more than these types know.
  if (status < 200 || status > 299 || !isObject(body)) throw errorOf(request, answer, body, attempts);
  return {
    data: body as T,
    status,
    headers,
    requestId: requestIdOf(headers),
    rateLimit: readRateLimit(headers),
    isReplay: headers.get('idempotency-replayed') === 'true',
    attempts,
  };
}

export function requestIdOf(headers: Headers): string | undefined {
  return headers.get('x-request-id') ?? undefined;
}

function errorOf(request: WrittenRequest, answer: Answer, body: unknown, attempts: number): IdeaBoardError {
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
  });
}

/** In a browser a redirect that is not followed shows no more of itself than a status of 0. */
function unexpectedMessage({ status, headers }: Answer): string {
  if (status !== 0 && (status < 300 || status > 399)) {
    return `The answer ${status} is not one of the Agent API: is baseUrl the address of the server?`;
  }
  const location = headers.get('location');
  return `The server redirects${location === null ? '' : ` to ${location}`}: set baseUrl to the address where it ends`;
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
