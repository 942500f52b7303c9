import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** An answer as it passes. */
interface PassingAnswer {
  status: number;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: a test makes of an answer what another server could answer.
  body: any;
}

/**
 * What becomes of a request, other than that it passes: an answer of the gateway's own, an answer of the server that is
 * changed or lost on its way back, a connection that breaks at once, in the middle of the answer, or stays silent.
 */
export type Mishap =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | ((answer: PassingAnswer) => void)
  | 'lose the answer'
  | 'break'
  | 'break off'
  | 'hang';

interface PassedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Gateway {
  url: string;
  /** Every request that arrived. */
  requests: PassedRequest[];
  /** The next requests meet with these, in order; the ones after them pass. */
  plan(...mishaps: (Mishap | 'pass')[]): void;
  /** Resolves when so many requests have arrived in all. */
  gets(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A gateway before a server, to which everything happens that happens on networks. */
export async function startGateway(upstream: string): Promise<Gateway> {
  const requests: PassedRequest[] = [];
  const planned: (Mishap | 'pass')[] = [];
  const waiting = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const passed = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    requests.push(passed);
    for (const check of waiting) check();
    // What a browser asks before its request is no request of the client's.
    const mishap = passed.method === 'OPTIONS' ? undefined : planned.shift();
    await meet(mishap ?? 'pass', upstream, passed, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    plan: (...mishaps) => void planned.push(...mishaps),
    gets: count =>
      new Promise(resolve => {
        const check = () => {
          if (requests.length >= count && waiting.delete(check)) resolve();
        };
        waiting.add(check);
        check();
      }),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The same, for one test. */
export async function startGatewayForTest(upstream: string): Promise<Gateway> {
  const gateway = await startGateway(upstream);
  onTestFinished(() => gateway.close());
  return gateway;
}

async function meet(mishap: Mishap | 'pass', upstream: string, request: PassedRequest, response: ServerResponse) {
  if (mishap === 'hang') return;
  if (mishap === 'break') return response.destroy();
  if (typeof mishap === 'object') {
    const { status, headers, body } = mishap;
    return response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const answer = await forward(upstream, request);
  if (mishap === 'lose the answer') return response.destroy();
  if (mishap === 'break off') {
    response.writeHead(answer.status, { ...answer.headers, 'content-length': '100000' });
    return response.write('{', () => response.destroy());
  }
  if (typeof mishap === 'function') mishap(answer);
  response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body));
}

/** What a gateway writes itself, for each connection. */
const ownHeaders = ['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding'];

async function forward(upstream: string, { method, path, headers, body }: PassedRequest): Promise<PassingAnswer> {
  const passing = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name));
  const answer = await fetch(upstream + path, {
    method,
    headers: passing.map(([name, value]) => [name, String(value)]),
    body: body === '' ? null : body,
    redirect: 'manual',
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: Object.fromEntries([...answer.headers].filter(([name]) => !ownHeaders.includes(name))),
    body: text === '' ? undefined : JSON.parse(text),
  };
}
