import { checkOptions } from './check-options.ts';

/** A response in a cache. The cache can store the response as JSON. */
export interface CachedResponse {
  etag: string;
  /** The text of the response body. */
  body: string;
}

/**
 * A store for responses, for example in Redis. Its functions can return promises. For each read, the client asks the
 * server whether the stored response is still current. So a store need not delete outdated responses.
 */
export interface ResponseCache {
  get(key: string): CachedResponse | null | undefined | PromiseLike<CachedResponse | null | undefined>;
  set(key: string, response: CachedResponse): unknown;
}

const defaultMaxCharacters = 10_000_000;

/** A cache in memory. When it is full, it removes the least recently used responses. */
export class MemoryCache implements ResponseCache {
  readonly #responses = new Map<string, CachedResponse>();
  readonly #maxCharacters: number;
  #characters = 0;

  /** `maxCharacters` limits the total length of the stored responses and their keys. The default is 10,000,000. */
  constructor(options: { maxCharacters?: number | undefined } = {}) {
    checkOptions(options, ['maxCharacters']);
    this.#maxCharacters = options.maxCharacters ?? defaultMaxCharacters;
  }

  get(key: string): CachedResponse | undefined {
    const response = this.#remove(key);
    if (response) this.#add(key, response);
    return response;
  }

  set(key: string, response: CachedResponse) {
    this.#remove(key);
    this.#add(key, response);
    // A Map lists its keys in the order of their insertion, and `get` inserts a used response again. So the first key
    // belongs to the least recently used response.
    for (const oldest of this.#responses.keys()) {
      if (this.#characters <= this.#maxCharacters) break;
      this.#remove(oldest);
    }
  }

  #add(key: string, response: CachedResponse) {
    this.#responses.set(key, response);
    this.#characters += lengthOf(key, response);
  }

  #remove(key: string): CachedResponse | undefined {
    const response = this.#responses.get(key);
    if (response && this.#responses.delete(key)) this.#characters -= lengthOf(key, response);
    return response;
  }
}

function lengthOf(key: string, { etag, body }: CachedResponse): number {
  return key.length + etag.length + body.length;
}
