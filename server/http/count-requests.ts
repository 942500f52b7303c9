import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../observability/metrics.ts';
import { isAbandoned } from './transport.ts';

/** The hook that counts each answer by its route, status and error key. */
export function countAnswers(metrics: Metrics) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (isAbandoned(reply.raw)) return;
    metrics.countRequest({
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      key: request.errorKey ?? '',
      durationMs: reply.elapsedTime,
    });
  };
}
