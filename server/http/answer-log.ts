import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../observability/metrics.ts';

/** The answers that the server could not send because the client had disconnected. transport.ts logs these answers. */
export const abandonedAnswers = new WeakSet<ServerResponse>();

/**
 * Builds a function that logs and counts each answer. The log omits the query string of the URL, because a query string
 * may contain a secret.
 */
export function recordAnswers(metrics: Metrics | undefined) {
  return (request: FastifyRequest, reply: FastifyReply) => {
    if (abandonedAnswers.has(reply.raw)) return;
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    request.log.info(
      {
        method,
        path: loggedPath(request.url),
        status,
        durationMs: Math.round(elapsedTime * 10) / 10,
        tokenId: request.admission?.principal.tokenId,
        tool: request.toolName ?? undefined,
        traceId: request.span?.traceId,
      },
      'request',
    );
    const route = request.routeOptions.url ?? 'none';
    const userAgent = request.headers['user-agent'];
    metrics?.countRequest({ method, route, status, key: request.errorKey ?? '', durationMs: elapsedTime, userAgent });
  };
}

/** The maximum length of a path in the log. All routes of this server have shorter paths. */
const maxLength = 512;

/**
 * Returns the path of a URL without its query string. A path that is too long is cut off, possibly inside a secret or
 * an e-mail address. A cut path ends with a mark, and the redactor then removes the path's last word.
 */
export function loggedPath(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > maxLength ? `${path.slice(0, maxLength)}[…]` : path;
}
