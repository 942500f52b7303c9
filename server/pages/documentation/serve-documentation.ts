import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { marked } from 'marked';
import type { Config } from '../../config.ts';
import { compress, sendCompressed } from '../../http/compressed.ts';
import { Html } from '../../text/html.ts';
import { documentationStylePath, iconPath, immutable, startReferencePath } from '../shell/assets.ts';
import { loadTemplate } from '../shell/template.ts';
import { findReferenceScript, type ReferenceScript } from './reference-script.ts';

/** Serves the API reference at /docs/. The server generates this page from the OpenAPI document. */
export function serveDocumentation(config: Pick<Config, 'BASE_URL'>) {
  return async (app: FastifyInstance) => {
    const ownHost = new URL(config.BASE_URL).host;
    documentation ??= loadDocumentation();
    const { script, page } = await documentation;
    app.get('/docs', async (_request, reply) => reply.redirect('/docs/', 301));
    app.get('/docs/', async (request, reply) => {
      // Starts the compression of the script now, because the browser will soon request the script.
      script.load().catch(error => request.log.error({ err: error }));
      reply.header('Content-Security-Policy', contentSecurityPolicy([request.headers.host, ownHost]));
      return sendCompressed(request, reply.type('text/html; charset=utf-8'), page);
    });
    app.get(script.path, async (request, reply) => {
      const content = await script.load();
      reply.header('Cache-Control', immutable).type('text/javascript; charset=utf-8');
      return sendCompressed(request, reply, content);
    });
  };
}

/** The page and the script of the API reference. If a process builds several servers, all of them share this value. */
let documentation: ReturnType<typeof loadDocumentation> | undefined;

async function loadDocumentation() {
  const script = await findReferenceScript();
  return { script, page: compress(await renderPage(script)) };
}

const documentPath = '/api/v1/openapi.json';
const documentFile = new URL('../../../contract/openapi.json', import.meta.url);

const configuration = {
  url: documentPath,
  // The API reference sends its requests to the server that serves the page. So the page works under every host name of
  // the server.
  servers: [{ url: '/', description: 'This server' }],
  // Turns off the features of the API reference that load something from other hosts: web fonts, a proxy and an AI
  // assistant.
  withDefaultFonts: false,
  proxyUrl: '',
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  // Fields appear in the same order as in the API contract.
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
};

interface OpenApiDocument {
  info: { title: string; summary: string; description: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, { summary: string; tags: string[] }>>;
}

interface DocumentationData {
  title: string;
  summary: string;
  /** The introductory text of the OpenAPI document. */
  description: Html;
  groups: { name: string; operations: { method: string; path: string; summary: string }[] }[];
  iconPath: string;
  stylesheetPath: string;
  documentPath: string;
  scriptPath: string;
  startPath: string;
  configuration: string;
}

const renderDocumentation = loadTemplate<DocumentationData>('pages/documentation/documentation');

/**
 * Renders the page with an overview of the API. Readers see the overview at once, and search engines and browsers
 * without JavaScript see nothing else. The script of the Scalar package then replaces the overview.
 */
async function renderPage(script: ReferenceScript): Promise<string> {
  const { info, tags, paths } = JSON.parse(await readFile(documentFile, 'utf8')) as OpenApiDocument;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  const groups = tags.map(({ name }) => ({ name, operations: operations.filter(one => one.tags.includes(name)) }));
  const page = renderDocumentation({
    ...info,
    description: new Html(await marked(info.description)),
    groups: groups.filter(group => group.operations.length > 0),
    iconPath,
    stylesheetPath: documentationStylePath,
    documentPath,
    scriptPath: script.path,
    startPath: startReferencePath,
    configuration: JSON.stringify(configuration),
  });
  return page.text;
}

const plainHost = /^[a-z0-9.-]+(:\d+)?$/i;

/**
 * The API reference shares its origin with the admin area. This policy therefore lets the scripts of the reference send
 * requests only to the Agent API. The scripts cannot open windows or send forms. They can add any styles to the page,
 * but can only add scripts that come from this server.
 */
function contentSecurityPolicy(hosts: (string | undefined)[]): string {
  const api = new Set(hosts.filter(host => host !== undefined && plainHost.test(host)).map(host => `${host}/api/v1/`));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
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
