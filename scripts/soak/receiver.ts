import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** Takes webhooks, checks each signature, and counts them by their ids. */
export interface Receiver {
  url: string;
  trust(secret: string): void;
  /** How often each event arrived, by its id. */
  arrivals: Map<string, number>;
  /** How many arrived in all. */
  count(): number;
  faults: string[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  let webhook: Webhook | undefined;
  const arrivals = new Map<string, number>();
  const faults: string[] = [];
  const http = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const id = String(request.headers['webhook-id']);
    try {
      webhook?.verify(await readBody(request), request.headers as Record<string, string>);
      arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
    } catch (error) {
      faults.push(`The webhook ${id} is not signed as it should be: ${(error as Error).message}`);
    }
    response.writeHead(204).end();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    trust(secret) {
      webhook = new Webhook(secret);
    },
    arrivals,
    count: () => [...arrivals.values()].reduce((sum, count) => sum + count, 0),
    faults,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
