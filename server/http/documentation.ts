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
    configuration: {
      url: '/api/v1/openapi.json',
      // Requests from the page go to this server, wherever it is reached.
      servers: [{ url: '/', description: 'This server' }],
      // Everything comes from this server: the page asks no other host for scripts, fonts, a proxy or an assistant.
      withDefaultFonts: false,
      proxyUrl: '',
      telemetry: false,
      showDeveloperTools: 'never',
      hideClientButton: true,
      agent: { disabled: true },
      mcp: { disabled: true },
    },
    hooks: {
      onRequest: (_request, reply, done) => {
        reply.header('Content-Security-Policy', contentSecurityPolicy);
        done();
      },
    },
  });
}

/** The page writes its own script and styles into the document; nothing may come from, or go to, another host. */
const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'";
