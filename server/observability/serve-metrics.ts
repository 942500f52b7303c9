import { once } from 'node:events';
import { createServer, type ServerOptions } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { ConfigError } from '../config.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { readUsage } from '../domain/usage/read-usage.ts';
import type { Metrics } from './metrics.ts';

export interface MetricsServer {
  /** The URL of the metrics: `http://<host>:<port>/metrics`. */
  url: string;
  close(): Promise<void>;
}

/** The maximum number of connections. Monitoring systems open far fewer. */
const maxConnections = 100;

/**
 * Serves GET /metrics and GET /usage on a separate port, without authentication. The port is for the monitoring network.
 */
export async function serveMetrics(
  metrics: Metrics,
  server: Pick<ServerDependencies, 'clock' | 'database' | 'logger'>,
  {
    host,
    port,
    allowedHosts = [],
    http: options = {},
  }: { host: string; port: number; allowedHosts?: readonly string[]; http?: ServerOptions },
): Promise<MetricsServer> {
  const isAllowedHost = allowHosts(allowedHosts);
  const writers: Record<string, () => Promise<{ contentType: string; text: string }>> = {
    '/metrics': () => metrics.write(server.database),
    '/usage': () => writeUsage(server),
  };
  const http = createServer(options, async (request, response) => {
    if (!isAllowedHost(request.headers.host)) {
      const text = 'This name is not allowed. Add it to METRICS_ALLOWED_HOSTS.\n';
      response.writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
      return;
    }
    const path = request.url?.split('?', 1)[0] ?? '';
    const write = Object.hasOwn(writers, path) ? writers[path] : undefined;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!write || !isRead) {
      response.writeHead(write ? 405 : 404, write ? { Allow: 'GET, HEAD' } : {}).end();
      return;
    }
    try {
      const { contentType, text } = await write();
      response.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    } catch (err) {
      server.logger.error({ err, path }, 'the metrics could not be written');
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

async function writeUsage({ clock, database }: Pick<ServerDependencies, 'clock' | 'database'>) {
  const usage = await readUsage(database, clock.now());
  return { contentType: 'application/json; charset=utf-8', text: `${JSON.stringify(usage)}\n` };
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
