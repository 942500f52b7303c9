import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BearerProxy {
  origin: string;
  /** Sets the token and the server, and starts to forward requests to this server. */
  passTo(baseUrl: string, token: string): void;
  close(): Promise<void>;
}

/** Starts a proxy that adds a bearer token to each request, for test suites that cannot send a token. */
export async function startBearerProxy(): Promise<BearerProxy> {
  let target: { baseUrl: string; token: string } | undefined;
  const proxy = createServer((incoming, answer) => {
    if (!target) return answer.writeHead(502).end();
    const headers = { ...incoming.headers, authorization: `Bearer ${target.token}` };
    const outgoing = request(new URL(incoming.url ?? '/', target.baseUrl), { method: incoming.method, headers });
    outgoing.on('response', response => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    outgoing.on('error', () => answer.destroy());
    incoming.pipe(outgoing);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    origin: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    passTo: (baseUrl, token) => {
      target = { baseUrl, token };
    },
    async close() {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
