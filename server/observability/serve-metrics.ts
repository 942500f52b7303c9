import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { ConfigError } from '../config.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Metrics } from './metrics.ts';

export interface MetricsServer {
  /** The URL of the metrics: `http://<host>:<port>/metrics`. */
  url: string;
  close(): Promise<void>;
}

/** The maximum number of connections. Monitoring systems open far fewer. */
const maxConnections = 100;

/**
 * Serves GET /metrics on a separate port, without authentication. The port is for the monitoring network. The port can
 * also serve JSON documents, such as the usage of tokens.
 */
export async function serveMetrics(
  metrics: Metrics,
  server: Pick<ServerDependencies, 'database' | 'logger'>,
  {
    host,
    port,
    allowedHosts = [],
    documents = {},
    http: options = {},
  }: {
    host: string;
    port: number;
    allowedHosts?: readonly string[];
    /** The functions that read the JSON documents. Each key is the path of a document. */
    documents?: Readonly<Record<string, () => Promise<object>>>;
    http?: ServerOptions;
  },
): Promise<MetricsServer> {
  const isAllowedHost = allowHosts(allowedHosts);
  const writers = new Map([['/metrics', () => metrics.write(server.database)]]);
  for (const [path, read] of Object.entries(documents)) {
    const contentType = 'application/json; charset=utf-8';
    writers.set(path, async () => ({ contentType, text: `${JSON.stringify(await read())}\n` }));
  }
  const http = createServer(options, async (request, response) => {
    if (!isAllowedHost(request.headers.host)) {
      const text = 'This name is not allowed. Add it to METRICS_ALLOWED_HOSTS.\n';
      response.writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
      return;
    }
    const path = request.url?.split('?', 1)[0] ?? '';
    const write = writers.get(path);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!write || !isRead) {
      response.writeHead(write ? 405 : 404, write ? { Allow: 'GET, HEAD' } : {}).end();
      return;
    }
    try {
      const { contentType, text } = await write();
      response.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    } catch (err) {
      server.logger.error({ err }, `${path} could not be written`);
      response.writeHead(500).end();
    }
  });
  http.maxConnections = maxConnections;
  http.listen(port, host);
  await once(http, 'listening').catch((error: Error) => {
    throw new ConfigError(`METRICS_PORT cannot be listened on: ${error.message}`, { cause: error });
  });
  const { address, family, port: taken } = http.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`,
    async close() {
      http.closeAllConnections();
      const closed = once(http, 'close');
      http.close();
      await closed;
    },
  };
}

/**
 * Returns a function that accepts a Host header with an IP address, localhost or an allowed name. The check prevents
 * DNS rebinding: the owner of a website could point the website's host name at this server. A script of the website
 * could then read the server's answers.
 */
function allowHosts(names: readonly string[]) {
  const allowed = new Set(['localhost', ...names.map(name => name.toLowerCase())]);
  return (host: string | undefined): boolean => {
    if (host === undefined || !URL.canParse(`http://${host}`)) return false;
    const { hostname } = new URL(`http://${host}`);
    return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || allowed.has(hostname.replace(/\.$/, ''));
  };
}
