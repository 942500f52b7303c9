import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../domain/domain-error.ts';

/** The hook that refuses an encoded body, before anything reads it: the server decompresses nothing. */
export async function refuseEncodedBody({ headers, method }: FastifyRequest, reply: FastifyReply) {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  // Nobody reads the body of a GET.
  if (method === 'GET' || method === 'HEAD') return;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || encoding === '' || encoding === 'identity') return;
  // RFC 7694: the codings that the server accepts in a request.
  reply.header('Accept-Encoding', 'identity');
  throw new DomainError('unsupported_media_type');
}
