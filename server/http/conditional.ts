import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { refund, setRateLimitHeaders } from './rate-limit.ts';
import { routeMetadata } from './request-context.ts';

/**
 * The hook that puts a weak ETag on reads of the API and on public pages. It answers 304 when the client already has the
 * answer, and then gives back what the token was charged.
 */
export function answerConditionally(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || reply.statusCode !== 200 || typeof payload !== 'string') return payload;
    const caching = cachingOf(request);
    if (!caching) return payload;

    // The address is part of the tag: the tag of one empty search must not make every other empty search free.
    const tag = `W/"${hash('sha1', `${request.url}\n${payload}`, 'base64url')}"`;
    reply.header('ETag', tag);
    reply.header('Cache-Control', caching);
    if (!matches(request.headers['if-none-match'], tag)) return payload;

    if (request.bucketState) setRateLimitHeaders(reply, await refund(server.database, request.bucketState));
    reply.status(304).removeHeader('content-type');
    // Fastify itself drops the body of an answer to HEAD, and fails where there is none.
    return request.method === 'HEAD' ? payload : null;
  };
}

/**
 * For a quarter of a minute nobody asks for a public page again, which spares the server when a link to it is passed
 * around; no longer, since a board that is made private has to be gone from the caches soon.
 */
const publicSeconds = 15;

function cachingOf(request: FastifyRequest): string | undefined {
  if (routeMetadata(request)?.auth === 'board') return 'private, no-cache';
  if (request.routeOptions.config.isPublicPage) return `public, max-age=${publicSeconds}, must-revalidate`;
  return undefined;
}

/** Caches send the tags of the few versions that they hold. More tags cost the server work and are ignored. */
const maxTags = 20;

/**
 * Compares weakly (RFC 9110, 13.1.2): proxies change the strength of a tag. `*` is ignored: it matches every answer, so
 * that it would make every read free.
 */
function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = tag.replace(/^W\//, '');
  return ifNoneMatch.split(',', maxTags).some(candidate => candidate.trim().replace(/^W\//, '') === opaque);
}
