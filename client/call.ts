import type { RateLimit } from './rate-limit.ts';

/** The result of a read with the option `etag`, if the data has not changed since the response with this `etag`. */
export const notModified: unique symbol = Symbol.for('@idea-board/client: not modified');

export type NotModified = typeof notModified;

/** A successful result with the metadata of its response. */
export interface CallResult<T> {
  data: T;
  /** The HTTP status. The status is 304 if `data` comes from the cache or is `notModified`. */
  status: number;
  headers: Headers;
  /** The version of the data. Pass this version in the option `etag` of a later read. */
  etag: string | undefined;
  requestId: string | undefined;
  rateLimit: RateLimit | undefined;
  /** Whether the server repeated the stored response of an earlier request with the same idempotency key. */
  isReplay: boolean;
  /** The number of HTTP requests that the call has sent, including retries. */
  attempts: number;
}

/**
 * A running call. Await the call for its result. Await `withResponse()` for the result and the metadata of the
 * response.
 */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'Call';
  readonly #result: Promise<CallResult<T>>;

  /** @internal */
  constructor(result: Promise<CallResult<T>>) {
    this.#result = result;
  }

  /** Resolves to the result with the status, the headers, the request id and the state of the rate limit. */
  withResponse(): Promise<CallResult<T>> {
    return this.#result;
  }

  // biome-ignore lint/suspicious/noThenProperty: a Call is a promise with one more method.
  then<A = T, B = never>(
    onFulfilled?: ((data: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result.then(({ data }) => data).then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<T> {
    return this.then().finally(onFinally);
  }
}
