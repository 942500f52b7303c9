import { readFile } from 'node:fs/promises';
import scalar from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';

const documentFile = new URL('../../contract/openapi.json', import.meta.url);

/** Serves the OpenAPI document at /api/v1/openapi.json and a page to read it at /docs. */
export async function serveDocumentation(app: FastifyInstance) {
  const document = await readFile(documentFile, 'utf8');
  app.get('/api/v1/openapi.json', async (_request, reply) => {
    reply.header('Cache-Control', 'public, max-age=300').type('application/json; charset=utf-8');
    return document;
  });
  await app.register(scalar, {
    routePrefix: '/docs',
    // Everything comes from this server: the page asks no other host for scripts, fonts or a proxy.
    configuration: { url: '/api/v1/openapi.json', withDefaultFonts: false, proxyUrl: '', telemetry: false },
  });
}
