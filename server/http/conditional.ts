import { hash } from 'node:crypto';
import type { DoneFuncWithErrOrRes, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { refund, setRateLimitHeaders } from './rate-limit.ts';
import { routeMetadata } from './request-context.ts';

/**
 * The hook that sets a weak ETag on public pages and on API responses to reads of a board. If the client already has
 * the response, the hook answers with HTTP status 304. The request then does not count against the token's rate limit.
 */
export function answerConditionally(server: ServerDependencies) {
  return (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: DoneFuncWithErrOrRes) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || reply.statusCode !== 200 || typeof payload !== 'string') return done(null, payload);
    const caching = cachingOf(request);
    // The page depends on the session cookie and on the language of the reader, so caches must store a separate version
    // for each combination.
    if (request.routeOptions.config.isPublicPage) reply.header('Vary', 'Cookie, Accept-Language');
    if (!caching) return done(null, payload);

    // The ETag includes the URL. Otherwise all empty search results would have the same ETag. With this ETag, a client
    // could search without a limit, because a 304 does not count against the rate limit.
    const tag = `W/"${hash('sha1', `${request.url}\n${payload}`, 'base64url')}"`;
    reply.header('ETag', tag);
    reply.header('Cache-Control', caching);
    if (!matches(request.headers['if-none-match'], tag)) return done(null, payload);
    answerUnchanged(request, reply).then(
      // Keeps the body of the answer to a HEAD request, because Fastify itself removes the body before it sends the
      // answer.
      () => done(null, request.method === 'HEAD' ? payload : null),
      done,
    );
  };

  async function answerUnchanged(request: FastifyRequest, reply: FastifyReply) {
    if (request.bucketState) setRateLimitHeaders(reply, await refund(server.database, request.bucketState));
    reply.status(304).removeHeader('content-type');
  }
}

/**
 * How long shared caches may keep a public page. Caches save work if many people open the same link. The time is short,
 * because a board that becomes private must soon disappear from caches.
 */
const publicSeconds = 15;

function cachingOf(request: FastifyRequest): string | undefined {
  if (routeMetadata(request)?.auth === 'board') return 'private, no-cache';
  // A signed-in person gets a page of their own. After a sign-in, the browser must not show the page that it cached
  // before the sign-in.
  if (request.routeOptions.config.isPublicPage && !request.isPersonal) {
    return `public, max-age=0, s-maxage=${publicSeconds}, must-revalidate`;
  }
  return undefined;
}

/** The maximum number of ETags to compare. Real caches send few ETags, and each comparison costs work. */
const maxTags = 20;

/**
 * Whether If-None-Match lists the ETag, by weak comparison (RFC 9110, 13.1.2), because proxies make strong ETags weak.
 * Ignores `*`, because every read would then get 304 and not count against the rate limit.
 */
function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = tag.replace(/^W\//, '');
  return ifNoneMatch.split(',', maxTags).some(candidate => candidate.trim().replace(/^W\//, '') === opaque);
}
