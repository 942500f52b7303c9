import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../domain/domain-error.ts';

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
