import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { refund, setRateLimitHeaders } from './rate-limit.ts';
import { routeMetadata } from './request-context.ts';

/**
 * The hook that sets a weak ETag on reads of the API and on public pages. If the client already has the answer, it
 * answers 304 and refunds the charge of the token.
 */
export function answerConditionally(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || reply.statusCode !== 200 || typeof payload !== 'string') return payload;
    const caching = cachingOf(request);
    if (!caching) return payload;

    // The URL is part of the tag, so that the tag of one empty search does not make every other empty search free.
    const tag = `W/"${hash('sha1', `${request.url}\n${payload}`, 'base64url')}"`;
    reply.header('ETag', tag);
    reply.header('Cache-Control', caching);
    if (!matches(request.headers['if-none-match'], tag)) return payload;

    if (request.bucketState) setRateLimitHeaders(reply, await refund(server.database, request.bucketState));
    reply.status(304).removeHeader('content-type');
    // Fastify removes the body of an answer to HEAD itself, and needs a body for that.
    return request.method === 'HEAD' ? payload : null;
  };
}

/** Spares the server when many people open a link. It is short, because caches must soon drop a board made private. */
const publicSeconds = 15;

function cachingOf(request: FastifyRequest): string | undefined {
  if (routeMetadata(request)?.auth === 'board') return 'private, no-cache';
  if (request.routeOptions.config.isPublicPage) return `public, max-age=${publicSeconds}, must-revalidate`;
  return undefined;
}

/** A cache holds few versions and sends few tags. Further tags are ignored, because they cost work. */
const maxTags = 20;

/** Compares weakly (RFC 9110, 13.1.2), because proxies change a tag's strength. Ignores `*`, which would make every read free. */
function matches(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = tag.replace(/^W\//, '');
  return ifNoneMatch.split(',', maxTags).some(candidate => candidate.trim().replace(/^W\//, '') === opaque);
}
