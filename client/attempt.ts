import { AbortError, ConnectionError, type ErrorDetails, TimeoutError } from './errors.ts';
import type { Fetch, FetchOptions } from './options.ts';
import type { PreparedRequest } from './request.ts';

/** A response that has been received completely. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** Whether the text of the body comes from the client's cache. */
  isFromCache?: boolean;
}

/** Sends a request and receives the complete response. */
export type Send = (request: PreparedRequest, signal: AbortSignal) => Promise<Answer>;

/** The maximum delay of a timer in JavaScript, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/** Sends a request once. If no complete response arrives, throws an error of this package. */
export async function sendOnce(
  send: Send,
  request: PreparedRequest,
  { timeoutMs, signal, attempts }: { timeoutMs: number; signal: AbortSignal | undefined; attempts: number },
): Promise<Answer> {
  const { operation } = request;
  if (signal?.aborted) throw abortError(signal, { operation, attempts: attempts - 1 });
  const controller = new AbortController();
  // An abort or a timeout must end the call even if a custom fetch function ignores the signal.
  const stopped = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  const onAbort = () => controller.abort(abortError(signal, { operation, attempts }));
  signal?.addEventListener('abort', onAbort, { once: true });
  const onTimeout = () => {
    const message = `No answer within ${Math.round(timeoutMs)} ms`;
    controller.abort(new TimeoutError({ message, operation, attempts }));
  };
  const timer = timeoutMs <= longestTimerMs ? setTimeout(onTimeout, timeoutMs) : undefined;
  try {
    return await Promise.race([send(request, controller.signal), stopped]);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw new ConnectionError({ message: connectionMessage(request, error), operation, attempts, cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Returns the error of a call that a signal aborted. */
export function abortError(signal: AbortSignal | undefined, details: Omit<ErrorDetails, 'message'>): AbortError {
  return new AbortError({ message: 'The call was aborted', ...details, cause: signal?.reason });
}

export async function sendWithFetch(
  fetch: Fetch,
  options: FetchOptions,
  { method, url, headers, body }: PreparedRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const response = await fetch(url, {
    ...options,
    method,
    headers,
    signal,
    // `fetch` must not follow redirects. A redirected POST could become a GET, which would list ideas instead of
    // creating an idea.
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Builds the message of a ConnectionError. The error of `fetch` often contains the reason only in its `cause`. */
function connectionMessage({ url }: PreparedRequest, error: unknown): string {
  const reasons: string[] = [];
  for (let one = error; one instanceof Error && reasons.length < 3; one = one.cause) {
    if (one.message !== '') reasons.push(one.message);
  }
  return `${new URL(url).origin} cannot be reached: ${reasons.join(': ') || String(error)}`;
}
