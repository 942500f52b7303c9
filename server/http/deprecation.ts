import type { FastifyReply, FastifyRequest } from 'fastify';
import { deprecationHeaders } from '../../contract/deprecation.ts';
import { routeMetadata } from './request-context.ts';

/** The hook that announces the end of a deprecated operation in each of its answers (RFC 9745, RFC 8594). */
export function announceDeprecation(request: FastifyRequest, reply: FastifyReply) {
  const deprecated = routeMetadata(request)?.deprecated;
  if (deprecated) reply.headers(deprecationHeaders(deprecated));
}
