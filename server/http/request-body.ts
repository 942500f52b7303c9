import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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

/**
 * Reads bodies as JSON alone. The parser that Fastify brings replaces bytes that are no UTF-8, so that text would be
 * stored that nobody sent.
 */
export function readJsonBodies(app: FastifyInstance) {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer));
    } catch {
      done(new DomainError('malformed_json'));
    }
  });
}

function parseJson(body: Buffer): unknown {
  // An action without a body is often sent with the header all the same.
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new Error('not UTF-8');
  // JSON.parse makes every member a property of its own, `__proto__` too. The schemas refuse it as an unknown field.
  return JSON.parse(body.toString().replace(/^\uFEFF/, ''));
}
