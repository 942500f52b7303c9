import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A response of the server that the gateway passes to the client. */
interface PassingAnswer {
  status: number;
  headers: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: a test may replace the body with anything that a server could send.
  body: any;
}

/**
 * A simulated network fault. The gateway sends its own response, changes or drops the server's response, closes the
 * connection before or during the response, or never responds.
 */
export type Fault =
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
  /** All requests that the gateway has received. */
  requests: PassedRequest[];
  /**
   * Applies one fault to each of the next requests, in the order of the arguments. The gateway forwards later requests
   * without a fault.
   */
  plan(...faults: (Fault | 'pass')[]): void;
  /** Resolves when the gateway has received `count` requests in total. */
  waitForRequests(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts a gateway that forwards requests to a server and can simulate network faults. */
export async function startGateway(upstream: string): Promise<Gateway> {
  const requests: PassedRequest[] = [];
  const planned: (Fault | 'pass')[] = [];
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
    // A browser adds preflight requests by itself, so a preflight request does not use up a planned fault.
    const fault = passed.method === 'OPTIONS' ? undefined : planned.shift();
    await meet(fault ?? 'pass', upstream, passed, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    plan: (...faults) => void planned.push(...faults),
    waitForRequests: count =>
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

/** Starts a gateway that closes at the end of the test. */
export async function startGatewayForTest(upstream: string): Promise<Gateway> {
  const gateway = await startGateway(upstream);
  onTestFinished(() => gateway.close());
  return gateway;
}

async function meet(fault: Fault | 'pass', upstream: string, request: PassedRequest, response: ServerResponse) {
  if (fault === 'hang') return;
  if (fault === 'break') return response.destroy();
  if (typeof fault === 'object') {
    const { status, headers, body } = fault;
    return response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const answer = await forward(upstream, request);
  if (fault === 'lose the answer') return response.destroy();
  if (fault === 'break off') {
    response.writeHead(answer.status, { ...answer.headers, 'content-length': '100000' });
    return response.write('{', () => response.destroy());
  }
  if (typeof fault === 'function') fault(answer);
  response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body));
}

/** Headers that belong to one connection, so the gateway does not forward them. */
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
