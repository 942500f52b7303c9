import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { makeCertificate } from './https-document.ts';
import { startServer, type TestServer, type TestServerOptions } from './server.ts';

interface PublicServerOptions extends TestServerOptions {
  /** Whether the relay uses HTTPS, with a self-signed certificate. */
  isSecure?: boolean;
}

/**
 * Starts a server behind a relay. BASE_URL is the relay's URL, because the server's own URL is not known before the
 * server starts.
 */
export async function startPublicServer({
  environment,
  isSecure = false,
  ...options
}: PublicServerOptions = {}): Promise<TestServer> {
  const relay = await startRelay(isSecure);
  const server = await startServer({ ...options, environment: { BASE_URL: relay.url, ...environment } });
  relay.forwardTo(server.baseUrl);
  server.beforeClose(relay.close);
  return { ...server, baseUrl: relay.url };
}

async function startRelay(isSecure: boolean) {
  const sockets = new Set<Socket>();
  let target = { port: 0, host: '127.0.0.1' };
  const join = (client: Socket) => {
    const server = createConnection(target);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  };
  const relay: Server = isSecure ? createTlsServer(makeCertificate(), join) : createServer(join);
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    forwardTo(url: string) {
      const { hostname, port } = new URL(url);
      target = { host: hostname, port: Number(port) };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      relay.close();
      await once(relay, 'close');
    },
  };
}
