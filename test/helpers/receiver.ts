import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  receivedAt: number;
}

/** The response that a receiver sends: an HTTP status, or a function that responds to each request. */
export type Behavior = number | ((response: ServerResponse, received: Received, request: IncomingMessage) => void);

export interface Receiver {
  /** The URL of the receiver: http://127.0.0.1:<port> */
  url: string;
  received: Received[];
  /** Sets the response to all requests that arrive from now on. */
  respondWith(behavior: Behavior): void;
  /** Returns the highest number of requests that were open at the same time. */
  maxConcurrent(): number;
  /** Resolves when the receiver has received `count` requests in total. */
  waitForRequests(count: number, timeoutMs?: number): Promise<Received[]>;
  close(): Promise<void>;
}

/** A receiver with this behavior never responds. */
export const hang: Behavior = () => {};

/** A receiver with this behavior closes the connection without a response. */
export const closeEarly: Behavior = response => {
  response.socket?.destroy();
};

export const redirectTo =
  (location: string): Behavior =>
  response => {
    response.writeHead(302, { location }).end();
  };

/** Starts an HTTP server on 127.0.0.1 that records the requests it receives. */
export async function startReceiver(behavior: Behavior = 204): Promise<Receiver> {
  let current = behavior;
  let open = 0;
  let most = 0;
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  const sockets = new Set<Socket>();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    open += 1;
    most = Math.max(most, open);
    response.on('close', () => {
      open -= 1;
    });
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString(),
        receivedAt: performance.now(),
      };
      received.push(one);
      if (typeof current === 'number') response.writeHead(current).end();
      else current(response, one, request);
      for (const check of waiting) check();
    });
  });
  server.on('connection', socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    respondWith(next) {
      current = next;
    },
    maxConcurrent: () => most,
    waitForRequests(count, timeoutMs = 30_000) {
      return new Promise((resolve, reject) => {
        const check = () => {
          if (received.length < count) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve(received.slice());
        };
        const timer = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`The receiver got ${received.length} of ${count} requests in ${timeoutMs} ms`));
        }, timeoutMs);
        waiting.add(check);
        check();
      });
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise(resolve => server.close(() => resolve()));
    },
  };
}

/** Starts a receiver that closes at the end of the test. */
export async function startReceiverForTest(behavior?: Behavior): Promise<Receiver> {
  const receiver = await startReceiver(behavior);
  onTestFinished(() => receiver.close());
  return receiver;
}
