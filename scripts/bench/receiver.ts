import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerCalls } from './answer-calls.ts';

/** Returns the time in fractional milliseconds since 1970. All processes of a machine share this clock. */
const now = () => performance.timeOrigin + performance.now();

let arrivals: [id: string, at: number][] = [];

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    arrivals.push([String(request.headers['webhook-id']), now()]);
    response.writeHead(204).end();
  });
});
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));

answerCalls<'url' | 'count' | 'take'>(message => {
  if (message === 'url') return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  if (message === 'count') return arrivals.length;
  const taken = arrivals;
  arrivals = [];
  return taken;
});
