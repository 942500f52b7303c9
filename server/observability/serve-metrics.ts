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

/** Serves GET /metrics on a separate port, without authentication. The port is for the monitoring network. */
export async function serveMetrics(
  metrics: Metrics,
  server: Pick<ServerDependencies, 'database' | 'logger'>,
  {
    host,
    port,
    allowedHosts = [],
    http: options = {},
  }: { host: string; port: number; allowedHosts?: readonly string[]; http?: ServerOptions },
): Promise<MetricsServer> {
  const isAllowedHost = allowHosts(allowedHosts);
  const http = createServer(options, async (request, response) => {
    if (!isAllowedHost(request.headers.host)) {
      const text = 'This name is not allowed. Add it to METRICS_ALLOWED_HOSTS.\n';
      response.writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
      return;
    }
    const isKnown = request.url?.split('?', 1)[0] === '/metrics';
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isKnown || !isRead) {
      response.writeHead(isKnown ? 405 : 404, isKnown ? { Allow: 'GET, HEAD' } : {}).end();
      return;
    }
    try {
      const { contentType, text } = await metrics.write(server.database);
      response.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    } catch (err) {
      server.logger.error({ err }, 'the metrics could not be written');
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
 * Returns a function that accepts a Host header with an IP address, localhost or an allowed name. This prevents DNS
 * rebinding: the owner of a website could point its host name at this server, and its script could read the answer.
 */
function allowHosts(names: readonly string[]) {
  const allowed = new Set(['localhost', ...names.map(name => name.toLowerCase())]);
  return (host: string | undefined): boolean => {
    if (host === undefined || !URL.canParse(`http://${host}`)) return false;
    const { hostname } = new URL(`http://${host}`);
    return isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || allowed.has(hostname.replace(/\.$/, ''));
  };
}
