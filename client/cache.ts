import type { Answer } from './attempt.ts';
import { checkOptions } from './check-options.ts';
import type { PreparedRequest } from './request.ts';

/** A response in a cache. It can be stored as JSON. */
export interface CachedResponse {
  etag: string;
  /** The text of the response body. */
  body: string;
}

/**
 * A store for responses, for example in Redis. Its functions can return promises. The client asks the server for each
 * read whether the stored response is still current, so a store never has to delete outdated responses.
 */
export interface ResponseCache {
  get(key: string): CachedResponse | null | undefined | PromiseLike<CachedResponse | null | undefined>;
  set(key: string, response: CachedResponse): unknown;
}

const defaultMaxCharacters = 10_000_000;

/** A cache in memory. When it is full, it removes the responses that were not used for the longest time. */
export class MemoryCache implements ResponseCache {
  readonly #responses = new Map<string, CachedResponse>();
  readonly #maxCharacters: number;
  #characters = 0;

  /** `maxCharacters` limits the total length of the stored responses. The default is 10,000,000. */
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
    // A Map lists its keys in the order of their insertion, so the first key is the key of the oldest response.
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

/**
 * Sends a read with the ETag of its cached response. If the server answers that the response is still current, returns
 * the cached response. An error of the cache must not fail the read.
 */
export async function sendWithCache(
  cache: ResponseCache,
  request: PreparedRequest,
  send: (request: PreparedRequest) => Promise<Answer>,
  onError: (error: unknown) => void,
): Promise<Answer> {
  const key = `${request.url} ${request.tokenName}`;
  const cached = await attempt(() => cache.get(key), onError);
  const headers = new Headers(request.headers);
  if (cached) headers.set('if-none-match', cached.etag);
  const answer = await send({ ...request, headers });
  if (cached && answer.status === 304) return { ...answer, text: cached.body, isFromCache: true };
  const etag = answer.headers.get('etag');
  if (answer.status === 200 && etag !== null) await attempt(() => cache.set(key, { etag, body: answer.text }), onError);
  return answer;
}

async function attempt<T>(work: () => T | PromiseLike<T>, onError: (error: unknown) => void): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    onError(error);
    return undefined;
  }
}
