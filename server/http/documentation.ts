import { readFile } from 'node:fs/promises';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';

const documentFile = new URL('../../contract/openapi.json', import.meta.url);

/** Serves the OpenAPI document at /api/v1/openapi.json and a page to read it at /docs. */
export async function serveDocumentation(app: FastifyInstance) {
  const document = await readFile(documentFile, 'utf8');
  app.get('/api/v1/openapi.json', async (_request, reply) => {
    reply.header('Cache-Control', 'public, max-age=300').type('application/json; charset=utf-8');
    return document;
  });

  let reference: Promise<FastifyInstance> | undefined;
  const answerPage = async ({ url }: { url: string }, reply: FastifyReply) => {
    reference ??= buildReference();
    const page = await (await reference).inject(url);
    const { location, 'content-type': type, 'cache-control': caching } = page.headers;
    if (location) return reply.redirect(String(location), page.statusCode);
    reply.status(page.statusCode).header('Content-Security-Policy', contentSecurityPolicy);
    if (caching) reply.header('Cache-Control', caching);
    return reply.type(String(type)).send(page.rawPayload);
  };
  for (const path of ['/docs', '/docs/', '/docs/js/scalar.js']) app.get(path, answerPage);
}

/**
 * The page is a server of its own behind ours, made for its first reader: its script alone takes 40 MB of memory, which
 * a server that only answers programs has no use for.
 */
async function buildReference(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const app = fastify();
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
  });
  return app;
}

/** The page writes its own script and styles into the document; nothing may come from, or go to, another host. */
const contentSecurityPolicy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'";
