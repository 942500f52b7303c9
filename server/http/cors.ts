import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathOf } from './request-context.ts';

const allowedHeaders =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Request-Id';

const exposedHeaders =
  'Deprecation, ETag, Idempotency-Replayed, Link, RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, ' +
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

/** How long a browser may cache the answer to a preflight request. Chromium caches it for at most this time. */
const preflightSeconds = 7200;

/**
 * Allows web pages of these origins to read the answers of the Agent API and of the OAuth endpoints. This is no access
 * control: each request to the Agent API still needs a token. The API ignores cookies, so credentials are not allowed.
 */
export function shareWithOrigins(origins: readonly string[]) {
  const isForAll = origins.includes('*');

  function allowedOrigin({ headers: { origin } }: FastifyRequest): string | undefined {
    if (isForAll) return '*';
    return origin !== undefined && origins.includes(origin) ? origin : undefined;
  }

  return {
    /** Sets the CORS headers before any hook refuses the request, so that a web page can also read an error. */
    allow(request: FastifyRequest, reply: FastifyReply) {
      if (origins.length === 0 || !isShared(request)) return;
      // Tells caches that the answer depends on the origin. Otherwise a cache could send the answer for one origin to a
      // page of another origin.
      if (!isForAll) reply.header('Vary', 'Origin');
      const origin = allowedOrigin(request);
      if (origin === undefined) return;
      reply.header('Access-Control-Allow-Origin', origin);
      reply.header('Access-Control-Expose-Headers', exposedHeaders);
    },

    /** Answers a preflight request of an allowed origin. The rate limit of the IP address counts such requests, too. */
    answerPreflight(request: FastifyRequest, reply: FastifyReply, done: () => void) {
      const { method, headers, server, url } = request;
      const isPreflight = method === 'OPTIONS' && headers.origin && headers['access-control-request-method'];
      if (!isPreflight || origins.length === 0 || !isShared(request)) return done();
      const allow = server.allowOf(url);
      if (allow === undefined || allowedOrigin(request) === undefined) return done();
      reply.header('Access-Control-Allow-Methods', allow);
      reply.header('Access-Control-Allow-Headers', allowedHeaders);
      reply.header('Access-Control-Max-Age', preflightSeconds);
      reply.status(204).send();
    },
  };
}

/**
 * The OAuth endpoints that clients call with HTTP requests. Browsers open the authorization endpoint as a page, so it
 * is not in the list.
 */
const oauthEndpoints = ['/.well-known/oauth-', '/oauth/token', '/oauth/register', '/oauth/revoke'];

/**
 * Whether web pages of other origins may read the answer to a request. They may read answers of the API and of the
 * OAuth endpoints, but neither this server's own pages nor the routes of extensions.
 */
function isShared(request: FastifyRequest): boolean {
  const path = pathOf(request);
  return path.startsWith('/api/') || oauthEndpoints.some(start => path.startsWith(start));
}
