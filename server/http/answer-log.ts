import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../observability/metrics.ts';

/** The answers whose clients disconnected first. transport.ts records them when the client disconnects. */
export const abandonedAnswers = new WeakSet<ServerResponse>();

/** The hook that logs and counts each answer. The log omits the query, because it may contain a secret. */
export function recordAnswers(metrics: Metrics | undefined) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
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
      },
      'request',
    );
    const route = request.routeOptions.url ?? 'none';
    metrics?.countRequest({ method, route, status, key: request.errorKey ?? '', durationMs: elapsedTime });
  };
}

/** The longest path in the log. The paths of this server are shorter. */
const maxLength = 512;

/**
 * Returns the path of a URL without its query, cut to a maximum length. The redactor recognizes the cut-off mark and
 * removes a secret or an address that the cut has split.
 */
export function loggedPath(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > maxLength ? `${path.slice(0, maxLength)}[…]` : path;
}
