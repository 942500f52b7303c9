import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';

test('a server that is shutting down still answers requests on open connections, but accepts no new connections', async () => {
  const server = await startServer();
  const world = await createWorld(server);
  const ideaId = await insertIdea(server, world);
  const { token } = await issueToken(server, world, 'write');
  const { hostname, port } = new URL(server.baseUrl);
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n`;

  const holder = await server.database.pool.connect();
  await holder.query('begin');
  await holder.query('select from ideas where id = $1 for update', [ideaId]);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', chunk => {
    received += chunk;
  });
  const ended = new Promise(resolve => socket.once('close', resolve));
  const body = '{"value":"up"}';
  const sized = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  socket.write(head(`POST /api/v1/ideas/${ideaId}/vote`) + sized);
  await waitForLockWaits(server, 1);

  const closed = server.close();
  const refusal = () =>
    request(server, 'GET /health').then(
      () => 'answered',
      () => 'refused',
    );
  await expect.poll(refusal, { timeout: 10_000 }).toBe('refused');
  socket.write(`${head('GET /api/v1/board')}\r\n`);
  await holder.query('commit');
  holder.release();
  // The function close() of a test server fails if the server has sent an answer that the contract does not declare.
  await closed;
  await ended;
  expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200']);
  expect(received.match(/^connection: close/gim)).toHaveLength(1);
});
