import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { startServer, type TestServer, type TestServerOptions } from './server.ts';

/** Starts a server behind a relay. BASE_URL is the relay's URL, because the server's own URL is not yet known. */
export async function startPublicServer({ environment, ...options }: TestServerOptions = {}): Promise<TestServer> {
  const relay = await startRelay();
  const server = await startServer({ ...options, environment: { BASE_URL: relay.url, ...environment } });
  relay.forwardTo(server.baseUrl);
  server.beforeClose(relay.close);
  return { ...server, baseUrl: relay.url };
}

async function startRelay() {
  const sockets = new Set<Socket>();
  let target = { port: 0, host: '127.0.0.1' };
  const relay = createServer(client => {
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
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
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
