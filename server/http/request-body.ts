import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../domain/domain-error.ts';

/**
 * The hook that refuses a body with a Content-Encoding other than identity, before the body is read. The server
 * decompresses no bodies.
 */
export function refuseEncodedBody(
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
  _payload: unknown,
  done: () => void,
) {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  // The server does not read the body of a GET or HEAD request.
  if (method === 'GET' || method === 'HEAD') return done();
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || encoding === '' || encoding === 'identity') return done();
  // Tells the client which content codings the server accepts in a request (RFC 7694).
  reply.header('Accept-Encoding', 'identity');
  throw new DomainError('unsupported_media_type');
}

/** Accepts only JSON bodies. Refuses invalid UTF-8, whereas Fastify's parser would replace the invalid bytes. */
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
  // An empty body is no error, because clients often send a Content-Type header with an empty body.
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new Error('not UTF-8');
  // JSON.parse makes `__proto__` an own property, which the schemas refuse as an unknown field.
  return JSON.parse(body.toString().replace(/^\uFEFF/, ''));
}
