import { AbortError, ConnectionError, type ErrorDetails, TimeoutError } from './errors.ts';
import type { Fetch } from './options.ts';
import type { WrittenRequest } from './request.ts';

/** An answer that was read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** The longest that a timer can be set to. */
const longestTimerMs = 2 ** 31 - 1;

/** Sends a request once. Whatever keeps it from being answered becomes one of the errors of this package. */
export async function sendOnce(
  fetch: Fetch,
  request: WrittenRequest,
  { timeoutMs, signal, attempts }: { timeoutMs: number; signal: AbortSignal | undefined; attempts: number },
): Promise<Answer> {
  const { operation } = request;
  if (signal?.aborted) throw abortError(signal, { operation, attempts: attempts - 1 });
  const controller = new AbortController();
  // A fetch of somebody's own may not heed its signal, so it is raced against it.
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
    return await Promise.race([exchange(fetch, request, controller.signal), stopped]);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw new ConnectionError({ message: connectionMessage(request, error), operation, attempts, cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

function abortError(signal: AbortSignal | undefined, details: Omit<ErrorDetails, 'message'>): AbortError {
  return new AbortError({ message: 'The call was aborted', ...details, cause: signal?.reason });
}

async function exchange(fetch: Fetch, request: WrittenRequest, signal: AbortSignal): Promise<Answer> {
  const { method, url, headers, body } = request;
  const response = await fetch(url, {
    method,
    headers,
    signal,
    // A redirect that is followed turns a POST into a GET, and a creation into a list.
    redirect: 'manual',
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Runtimes say "fetch failed" and keep the reason in the cause. */
function connectionMessage({ url }: WrittenRequest, error: unknown): string {
  const reasons: string[] = [];
  for (let one = error; one instanceof Error && reasons.length < 3; one = one.cause) {
    if (one.message !== '') reasons.push(one.message);
  }
  return `${new URL(url).origin} cannot be reached: ${reasons.join(': ') || String(error)}`;
}
