import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../config.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Metrics } from './metrics.ts';

export interface MetricsServer {
  /** `http://<host>:<port>/metrics`. */
  url: string;
  close(): Promise<void>;
}

/** Answers GET /metrics on a port of its own, which has no authentication: it is for the network of the monitoring. */
export async function serveMetrics(
  metrics: Metrics,
  server: Pick<ServerDependencies, 'database' | 'logger'>,
  { host, port }: { host: string; port: number },
): Promise<MetricsServer> {
  const http = createServer(async (request, response) => {
    const isKnown = request.url?.split('?', 1)[0] === '/metrics';
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isKnown || !isRead) {
      response.writeHead(isKnown ? 405 : 404, isKnown ? { Allow: 'GET, HEAD' } : {}).end();
      return;
    }
    try {
      const { contentType, text } = await metrics.write(server);
      response.writeHead(200, { 'Content-Type': contentType, 'Cache-Control': 'no-store' }).end(text);
    } catch (err) {
      server.logger.error({ err }, 'the metrics could not be written');
      response.writeHead(500).end();
    }
  });
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
