import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../observability/metrics.ts';

/** Answers whose clients left before them. They are recorded when that happens, and not again. */
export const abandonedAnswers = new WeakSet<ServerResponse>();

/** The hook that logs each answer and counts it. The log has no query, since a person may have typed a secret into it. */
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
 * The path of a URL without its query, cut before the redactor reads it. The redactor knows the sign at the end, and takes
 * out a secret or an address that the cut has halved.
 */
export function loggedPath(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return path.length > maxLength ? `${path.slice(0, maxLength)}[…]` : path;
}
