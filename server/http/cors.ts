import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from './request-context.ts';

/** What a page may send beside what browsers send anyway. */
const allowedHeaders = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'X-Request-Id',
].join(', ');

/** What a page may see of an answer beside its body. */
const exposedHeaders = [
  'ETag',
  'Idempotency-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
].join(', ');

/** How long a browser may remember the answer to a preflight; Chromium remembers none for longer. */
const preflightSeconds = 7200;

/**
 * Lets browsers give the answers of the Agent API to pages of these origins. Nothing is let in or kept out by it: a token
 * is asked for all the same, and cookies count for nothing, so none are allowed.
 */
export function shareWithOrigins(origins: readonly string[]) {
  const isForAll = origins.includes('*');

  function allowedOrigin({ headers: { origin } }: FastifyRequest): string | undefined {
    if (isForAll) return '*';
    return origin !== undefined && origins.includes(origin) ? origin : undefined;
  }

  return {
    /** Goes before what may refuse, so that a page can read why it was refused. */
    async allow(request: FastifyRequest, reply: FastifyReply) {
      if (origins.length === 0 || !isShared(request)) return;
      // A cache must not give the answer for one origin to another.
      if (!isForAll) reply.header('Vary', 'Origin');
      const origin = allowedOrigin(request);
      if (origin === undefined) return;
      reply.header('Access-Control-Allow-Origin', origin);
      reply.header('Access-Control-Expose-Headers', exposedHeaders);
    },

    /** Goes after the limit of the address. What is no preflight of an allowed origin is answered as without CORS. */
    async answerPreflight(request: FastifyRequest, reply: FastifyReply) {
      const { method, headers, is404, routeOptions } = request;
      const isPreflight = method === 'OPTIONS' && headers.origin && headers['access-control-request-method'];
      if (!isPreflight || is404 || origins.length === 0 || !isShared(request)) return;
      if (allowedOrigin(request) === undefined) return;
      reply.header('Access-Control-Allow-Methods', routeOptions.config.allow ?? '');
      reply.header('Access-Control-Allow-Headers', allowedHeaders);
      reply.header('Access-Control-Max-Age', preflightSeconds);
      return reply.status(204).send();
    },
  };
}

/** What clients of OAuth ask themselves: where people are sent is a page. */
const ofOauth = ['/.well-known/oauth-', '/oauth/token', '/oauth/register', '/oauth/revoke'];

/** The pages for people, and what extensions serve, are for their own origin. */
function isShared(request: FastifyRequest): boolean {
  const path = pathOf(request);
  return path.startsWith('/api/') || ofOauth.some(start => path.startsWith(start));
}
