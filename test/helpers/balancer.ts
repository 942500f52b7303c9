import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A load balancer that behaves like HAProxy and nginx. It polls /ready of every server and sends requests in turn to
 * the ready servers. It keeps connections open, and does not repeat failed requests. If no server is ready, it sends
 * requests to all servers.
 */
export interface Balancer {
  /** The URL of the balancer: http://127.0.0.1:<port> */
  url: string;
  /** Adds a server to the balancer. The balancer starts to send requests to the server when the server is ready. */
  add(baseUrl: string): void;
  remove(baseUrl: string): void;
  /** Resolves when exactly `count` servers are ready. */
  waitForReady(count: number, timeoutMs?: number): Promise<void>;
  /** The requests that got no complete response from a server, each with the reason. */
  failures: string[];
  close(): Promise<void>;
}

interface Server {
  baseUrl: string;
  isReady: boolean;
  agent: Agent;
}

const probeTimeoutMs = 5_000;

export async function startBalancer(probeIntervalMs = 100): Promise<Balancer> {
  const servers = new Map<string, Server>();
  const failures: string[] = [];
  const sockets = new Set<Socket>();
  let turn = 0;

  function nextServer(): Server | undefined {
    const all = [...servers.values()];
    const ready = all.filter(({ isReady }) => isReady);
    const candidates = ready.length > 0 ? ready : all;
    turn += 1;
    return candidates[turn % candidates.length];
  }

  const http = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    const server = nextServer();
    if (server) forward(server, incoming, outgoing);
    else outgoing.writeHead(503, { 'x-balancer': 'no server' }).end();
  });
  http.on('connection', socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  function forward({ baseUrl, agent }: Server, incoming: IncomingMessage, outgoing: ServerResponse) {
    const { method, url, headers } = incoming;
    const asked = request(new URL(url ?? '/', baseUrl), { method, headers, agent }, answer => {
      const { connection: _, 'keep-alive': __, ...rest } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, rest);
      answer.pipe(outgoing);
      answer.on('error', fail);
    });
    function fail(error: Error & { code?: string }) {
      failures.push(`${method} ${url} at ${baseUrl}: ${error.code ?? error.message}`);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502, { 'x-balancer': error.code ?? error.message }).end();
    }
    asked.on('error', fail);
    incoming.pipe(asked);
  }

  async function watch(server: Server) {
    while (servers.get(server.baseUrl) === server) {
      server.isReady = await isReady(server.baseUrl);
      await delay(probeIntervalMs);
    }
    server.agent.destroy();
  }

  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    failures,
    add(baseUrl) {
      const server = { baseUrl, isReady: false, agent: new Agent({ keepAlive: true }) };
      servers.set(baseUrl, server);
      void watch(server);
    },
    remove: baseUrl => void servers.delete(baseUrl),
    async waitForReady(count, timeoutMs = 20_000) {
      const deadline = performance.now() + timeoutMs;
      while ([...servers.values()].filter(one => one.isReady).length !== count) {
        if (performance.now() > deadline)
          throw new Error(`The balancer does not have ${count} ready servers after ${timeoutMs} ms`);
        await delay(5);
      }
    },
    async close() {
      servers.clear();
      for (const socket of sockets) socket.destroy();
      http.close();
      await once(http, 'close');
    },
  };
}

async function isReady(baseUrl: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = request(new URL('/ready', baseUrl), { agent: false, timeout: probeTimeoutMs }, answer => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    probe.on('timeout', () => probe.destroy());
    probe.on('error', () => resolve(false));
    probe.end();
  });
}
