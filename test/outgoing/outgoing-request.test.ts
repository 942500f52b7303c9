import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { buildAddressGuard } from '../../server/outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../server/outgoing/outgoing-request.ts';
import { type Behavior, closeEarly, hang, redirectTo, startReceiverForTest } from '../helpers/receiver.ts';
import { workerConfig } from '../helpers/worker.ts';

const guard = buildAddressGuard(workerConfig().WEBHOOK_ALLOWED_CIDRS);

function buildRequests(timeoutMs = 60_000) {
  const requests = buildOutgoingRequests({ guard, timeoutMs });
  onTestFinished(() => requests.close());
  return requests;
}

const request = { headers: { 'content-type': 'application/json' }, body: '{"a":"ü"}' };

async function postTo(behavior: Behavior, timeoutMs?: number) {
  const receiver = await startReceiverForTest(behavior);
  return buildRequests(timeoutMs).post(receiver.url, request);
}

test('the body of an outgoing request arrives unchanged, and requests to the same receiver reuse one connection', async () => {
  const connections = new Set<unknown>();
  const receiver = await startReceiverForTest(response => {
    connections.add(response.socket);
    response.end('thanks');
  });
  const requests = buildRequests();
  for (let round = 0; round < 3; round++) {
    expect(await requests.post(receiver.url, request)).toMatchObject({ status: 200, body: Buffer.from('thanks') });
  }
  expect(receiver.received[0]).toMatchObject({
    body: request.body,
    headers: { 'content-length': '10', 'accept-encoding': 'identity', 'user-agent': 'Idea-Board' },
  });
  expect(connections.size).toBe(1);
});

test.each([301, 302, 303, 307, 308])(
  'the server does not follow a redirect with the HTTP status %d in response to an outgoing request',
  async status => {
    const inside = await startReceiverForTest();
    const answer = await postTo(response => response.writeHead(status, { location: inside.url }).end());
    expect(answer.status).toBe(status);
    expect(inside.received).toEqual([]);
    expect((await postTo(redirectTo('http://127.0.0.1:1/'))).status).toBe(302);
  },
);

test('the server reads at most 64 KiB of the response to an outgoing request and then closes the connection', async () => {
  let sent = 0;
  const closed = Promise.withResolvers<void>();
  const answer = await postTo(response => {
    const chunk = Buffer.alloc(16 * 1024, 'x');
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on('drain', write);
    response.on('close', closed.resolve);
    write();
  });
  expect(answer.body).toHaveLength(64 * 1024);
  await closed.promise;
  // The receiver sends more than the 64 KiB that the request reads, because socket buffers hold further data.
  expect(sent).toBeLessThan(16 * 1024 * 1024);
});

test('the server does not decompress a compressed response to an outgoing request', async () => {
  const zipped = Buffer.from('1f8b0800000000000003', 'hex');
  const answer = await postTo(response => response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped));
  expect(answer.body).toEqual(zipped);
});

const silences: [string, Behavior][] = [
  ['no response', hang],
  ['headers without a body', response => response.writeHead(200, { 'content-length': 10 }).write('half')],
  [
    'a body that trickles',
    response => {
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    },
  ],
];
test.each(silences)('an outgoing request times out if the receiver sends %s', async (_name, behavior) => {
  await expect(postTo(behavior, 300)).rejects.toThrow('No answer within 0.3 seconds');
});

test('the error of an outgoing request says whether the connection was closed or refused', async () => {
  await expect(postTo(closeEarly)).rejects.toThrow('The connection was closed without an answer');
  const receiver = await startReceiverForTest();
  await receiver.close();
  await expect(buildRequests().post(receiver.url, request)).rejects.toThrow('The connection was refused');
});

test('the server retries an outgoing request on a new connection if the receiver closes a reused connection before answering', async () => {
  let count = 0;
  const server = createTcpServer(socket => {
    socket.on('error', () => {});
    let isUsed = false;
    socket.on('data', () => {
      // The receiver closes the connection when the second request arrives.
      if (isUsed) return socket.resetAndDestroy();
      isUsed = true;
      count += 1;
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requests = buildRequests();
  expect((await requests.post(url, request)).status).toBe(204);
  expect((await requests.post(url, request)).status).toBe(204);
  expect(count).toBe(2);
});

test('an outgoing request fails if the response is not HTTP or its headers are too long', async () => {
  const answerWith = async (text: string) => {
    const server = createTcpServer(socket => {
      socket.on('error', () => {});
      socket.end(text);
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
    });
    return buildRequests().post(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, request);
  };
  await expect(answerWith('SSH-2.0-OpenSSH_9.9\r\n')).rejects.toThrow('The answer is not HTTP');
  await expect(answerWith(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`)).rejects.toThrow(
    'headers of the answer are too long',
  );
});

test('an outgoing request to a URL with credentials or a scheme other than http and https is rejected', async () => {
  const requests = buildRequests();
  await expect(requests.post('ftp://example.com/', request)).rejects.toThrow('must begin with https:// or http://');
  await expect(requests.post('file:///etc/passwd', request)).rejects.toThrow('must begin with https:// or http://');
  await expect(requests.post('https://user:word@example.com/', request)).rejects.toThrow('user name or password');
  await expect(requests.post('not a url', request)).rejects.toThrow('is not a URL');
});

test('an aborted outgoing request rejects its promise with the reason of the abort signal', async () => {
  const receiver = await startReceiverForTest(hang);
  const stopping = new AbortController();
  const answer = buildRequests().post(receiver.url, { ...request, signal: stopping.signal });
  await receiver.waitForRequests(1);
  stopping.abort(new Error('the worker stops'));
  await expect(answer).rejects.toThrow('the worker stops');
});
