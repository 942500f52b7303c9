import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

const documentFile = new URL('../../contract/openapi.json', import.meta.url);

/** Serves the OpenAPI document at /api/v1/openapi.json. */
export async function serveOpenApiDocument(app: FastifyInstance) {
  const document = await readFile(documentFile, 'utf8');
  app.get('/api/v1/openapi.json', async (_request, reply) => {
    reply.header('Cache-Control', 'public, max-age=300').type('application/json; charset=utf-8');
    return document;
  });
}
