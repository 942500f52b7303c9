import type { RateLimit } from './rate-limit.ts';

/** A success, with what the answer said beside its body. */
export interface CallResult<T> {
  data: T;
  status: number;
  headers: Headers;
  requestId: string | undefined;
  rateLimit: RateLimit | undefined;
  /** Whether the server had done this before, under the same idempotency key, and answered as it did then. */
  isReplay: boolean;
  /** How many requests were sent. */
  attempts: number;
}

/** A call on its way: await it for its result, or `withResponse()` for what came with it. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = 'Call';
  readonly #result: Promise<CallResult<T>>;

  /** @internal */
  constructor(result: Promise<CallResult<T>>) {
    this.#result = result;
  }

  /** The result with the status, the headers, the request id and the state of the rate limit. */
  withResponse(): Promise<CallResult<T>> {
    return this.#result;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise, with one method more.
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
