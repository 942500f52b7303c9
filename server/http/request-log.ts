import type { FastifyReply, FastifyRequest } from 'fastify';
import { loggedPath } from './logged-path.ts';
import { isAbandoned } from './transport.ts';

/** The hook that writes one line for each request: the path without its query, which may hold what a person typed. */
export async function logAnswers(request: FastifyRequest, reply: FastifyReply) {
  if (isAbandoned(reply.raw)) return;
  request.log.info(
    {
      method: request.method,
      path: loggedPath(request.url),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      tokenId: request.admission?.principal.tokenId,
      tool: request.toolName ?? undefined,
    },
    'request',
  );
}
