import fastify, { type FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { escapeHtml } from '../../text/html.ts';
import { iconPath } from '../shell/assets.ts';

/** Serves the API reference at /docs/. It is generated from the OpenAPI document. */
export function serveDocumentation(config: Pick<Config, 'BASE_URL'>) {
  return async (app: FastifyInstance) => {
    const ownHost = new URL(config.BASE_URL).host;
    app.get('/docs', async (_request, reply) => reply.redirect('/docs/', 301));
    app.get('/docs/', async (request, reply) => {
      reply.header('Content-Security-Policy', contentSecurityPolicy([request.headers.host, ownHost]));
      return reply.type('text/html; charset=utf-8').send(referencePage);
    });
    let reference: Promise<FastifyInstance> | undefined;
    app.get(scriptPath, async (_request, reply) => {
      reference ??= buildReference();
      const { payload } = await (await reference).inject(scriptPath);
      // The file changes only with the version of the Scalar package.
      reply.header('Cache-Control', 'public, max-age=3600');
      return reply.type('text/javascript; charset=utf-8').send(payload);
    });
  };
}

const scriptPath = '/docs/js/scalar.js';

const configuration = {
  url: '/api/v1/openapi.json',
  // The API reference sends its requests to the server that serves it. So it works under every host name of the server.
  servers: [{ url: '/', description: 'This server' }],
  // The page loads nothing from other hosts. Fonts, the proxy and the assistant are switched off.
  withDefaultFonts: false,
  proxyUrl: '',
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/** Replaces the HTML page of the Scalar package, because contentSecurityPolicy forbids that page's inline script. */
const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Idea-Board Agent API</title>
<link rel="icon" href="${iconPath}">
</head>
<body>
<script id="api-reference" type="application/json" data-configuration="${escapeHtml(JSON.stringify(configuration))}"></script>
<script src="${scriptPath}"></script>
</body>
</html>
`;

/**
 * The script of the Scalar package takes 40 MB of memory. The server loads it for the first reader, because a server
 * without readers does not need it.
 */
async function buildReference(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const app = fastify();
  await app.register(scalar, { routePrefix: '/docs', configuration: { url: configuration.url } });
  return app;
}

const plainHost = /^[a-z0-9.-]+(:\d+)?$/i;

/**
 * The API reference shares its origin with the admin area. This policy therefore limits the scripts of the reference to
 * the Agent API. The scripts cannot open windows or send forms. They can add styles to the document, but no scripts.
 */
function contentSecurityPolicy(hosts: (string | undefined)[]): string {
  const api = new Set(hosts.filter(host => host !== undefined && plainHost.test(host)).map(host => `${host}/api/v1/`));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    // These sources have no scheme, so the browser uses the scheme of the page.
    `connect-src ${[...api].join(' ')}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    'sandbox allow-scripts allow-same-origin allow-downloads',
  ].join(';');
}
