import fastify, { type FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { escapeHtml } from '../../text/html.ts';
import { iconPath } from '../shell/assets.ts';

/** Serves a page to read the OpenAPI document at /docs/. */
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
      // It changes with the version of the package alone.
      reply.header('Cache-Control', 'public, max-age=3600');
      return reply.type('text/javascript; charset=utf-8').send(payload);
    });
  };
}

const scriptPath = '/docs/js/scalar.js';

const configuration = {
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
};

/** Not the page of the package: that starts the reference by an inline script. */
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
 * The package's script takes 40 MB of memory. It is loaded for the first reader, because a server that only answers
 * programs has no use for it.
 */
async function buildReference(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const app = fastify();
  await app.register(scalar, { routePrefix: '/docs', configuration: { url: configuration.url } });
  return app;
}

/** What a host may look like in a policy. */
const plainHost = /^[a-z0-9.-]+(:\d+)?$/i;

/**
 * Keeps the reference, which is on the origin of the admin area, to the Agent API: its scripts can read and send nothing
 * else, open no window and send no form. The script writes its styles into the document, but no scripts.
 */
function contentSecurityPolicy(hosts: (string | undefined)[]): string {
  const api = new Set(hosts.filter(host => host !== undefined && plainHost.test(host)).map(host => `${host}/api/v1/`));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    // Without a scheme, a host is reached by the scheme of the page.
    `connect-src ${[...api].join(' ')}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    'sandbox allow-scripts allow-same-origin allow-downloads',
  ].join(';');
}
