import type { Answer } from './attempt.ts';
import type { ResponseCache } from './cache.ts';
import type { PreparedRequest } from './request.ts';

/**
 * Sends a read with the ETag of its cached response. If the server answers that the response is still current, returns
 * the cached response. An error of the cache must not make the read fail.
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
