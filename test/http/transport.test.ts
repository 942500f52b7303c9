import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type ErrorKey, errors } from '../../contract/errors.ts';
import { boundedServer } from '../../server/http/transport.ts';
import { buildMetrics } from '../../server/observability/metrics.ts';
import { serveMetrics } from '../../server/observability/serve-metrics.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { exchangeRaw, openConnection, readRaw } from '../helpers/raw-connection.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest, type TestServer } from '../helpers/server.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  return () => db.drop();
});

const start = (environment: Record<string, string> = {}) => startServerForTest({ environment, on: db });

interface Line {
  level: number;
  msg: string;
  reqId?: string;
  method?: string;
  path?: string;
  status?: number;
  key?: string;
}

const linesOf = ({ logLines }: TestServer) => logLines.map(line => JSON.parse(line) as Line);
const requestLines = (server: TestServer) => linesOf(server).filter(({ msg }) => msg === 'request');

const json = 'Host: x\r\nContent-Type: application/json\r\n';
const form = 'Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\n';

/**
 * Unfinished requests, at least one for each parser of request bodies. The client never sends the rest of an unfinished
 * request.
 */
const unfinished: [string, string][] = [
  ['the body of an MCP request', `POST /api/v1/mcp HTTP/1.1\r\n${json}Content-Length: 100\r\n\r\n{`],
  [
    'the chunked body of an MCP request',
    `POST /api/v1/mcp HTTP/1.1\r\n${json}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
  ],
  ['the form of an OAuth token request', `POST /oauth/token HTTP/1.1\r\n${form}Content-Length: 100\r\n\r\ngrant_type=`],
  ['the body of an OAuth client registration', `POST /oauth/register HTTP/1.1\r\n${json}Content-Length: 100\r\n\r\n{`],
  ['the form of a page', `POST /unsubscribe?token=x HTTP/1.1\r\n${form}Content-Length: 100\r\n\r\na=`],
  ['the headers of a request', 'GET /health HTTP/1.1\r\nHost: x\r\n'],
];

describe('slow requests', () => {
  test.each(unfinished)(
    'the server answers an incomplete request with an error and closes the connection (incomplete part: %s)',
    async (_, text) => {
      const server = await start({ REQUEST_TIMEOUT_MS: '300' });
      const answer = await exchangeRaw(server, text);
      // Accepts errors other than 408, because a route may refuse the request before it reads the body.
      if (answer.status !== 408) expect(answer.status).toBeGreaterThanOrEqual(400);
      else expect(answer.body).toEqual({ error: { key: 'request_timeout', message: errors.request_timeout.meaning } });
      await expect.poll(() => requestLines(server)).toHaveLength(1);
      expect(requestLines(server)[0]).toMatchObject({ level: 30, reqId: answer.headers.get('x-request-id') });
      expect(linesOf(server).filter(({ level }) => level > 30)).toEqual([]);
    },
  );

  test('a client that sends its request byte by byte and too slowly gets 408, and the server closes the connection', async () => {
    const server = await start({ REQUEST_TIMEOUT_MS: '400' });
    const connection = await openConnection(server);
    await connection.send(`POST /api/v1/mcp HTTP/1.1\r\n${json}Content-Length: 10000\r\n\r\n`);
    const trickle = setInterval(() => connection.socket.writable && connection.socket.write(' '), 20);
    const answer = readRaw(await connection.closed.finally(() => clearInterval(trickle)));
    expect([answer.status, answer.body.error.key]).toEqual([408, 'request_timeout']);
    await expect.poll(() => requestLines(server)).toMatchObject([{ method: 'POST', path: '/api/v1/mcp', status: 408 }]);
  });

  test('if the server answers a request before the whole body has arrived, the server closes the connection without a second answer', async () => {
    const server = await start({ REQUEST_TIMEOUT_MS: '300' });
    const connection = await openConnection(server);
    await connection.send(`POST /api/v1/ideas HTTP/1.1\r\n${json}Content-Length: 100\r\n\r\n{`);
    const received = await connection.closed;
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(readRaw(received).status).toBe(401);
  });

  test('the request timeout does not close an idle connection after its last request was answered', async () => {
    const server = await start({ REQUEST_TIMEOUT_MS: '300' });
    const { send, closed } = await openConnection(server);
    await send('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => requestLines(server)).toHaveLength(1);
    // Sends an incomplete request on a second connection, and waits until the request timeout closes this connection. A
    // request timeout for idle connections would have closed the first connection as well.
    await exchangeRaw(server, 'GET /health HTTP/1.1\r\n');
    await send('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect((await closed).match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
  });

  test('after the request timeout, the metrics port answers an unfinished request with 408 and closes the connection', async () => {
    const metrics = await serveMetrics(
      buildMetrics(),
      { database: db.database, logger: (await start()).dependencies.logger },
      { host: '127.0.0.1', port: 0, http: boundedServer({ REQUEST_TIMEOUT_MS: 300 }) },
    );
    onTestFinished(() => metrics.close());
    const connection = await openConnection({ baseUrl: metrics.url });
    await connection.send('GET /metrics HTTP/1.1\r\nHost: x\r\n');
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('the default request timeout is 30 seconds, and the default connection limit is 2,000', async () => {
    const { config } = await start();
    expect(config).toMatchObject({ REQUEST_TIMEOUT_MS: 30_000, MAX_CONNECTIONS: 2000 });
    expect(boundedServer(config)).toEqual({
      requestTimeout: 30_000,
      headersTimeout: 30_000,
      connectionsCheckingInterval: 1000,
    });
  });
});

test('the server immediately closes each connection beyond the connection limit, and accepts a new connection after an older one has ended', async () => {
  const server = await start({ MAX_CONNECTIONS: '3' });
  const open = await Promise.all([1, 2, 3].map(() => openConnection(server)));
  for (const { send } of open) await send('GET /health HTTP/1.1\r\nHost: x\r\n');
  const refused = await openConnection(server);
  expect(await refused.closed).toBe('');
  expect(await (await openConnection(server)).closed).toBe('');
  // The server writes only one log line a minute for all connections that it has refused.
  expect(linesOf(server).filter(({ level }) => level === 40)).toMatchObject([{ maxConnections: 3 }]);
  open[0]?.socket.destroy();
  await expect
    .poll(async () => {
      const answer = await exchangeRaw(server, 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      return answer.status;
    })
    .toBe(200);
});

describe('aborted requests', () => {
  const resets: [string, string][] = [
    ['after a whole request', 'GET /no/such/path HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['after a whole request with a token', 'GET /api/v1/board HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n'],
    ...unfinished.slice(0, 5).map(([name, text]): [string, string] => [`in the middle of ${name}`, text]),
  ];

  test.each(resets)(
    "a request whose connection is reset %s causes no internal error and counts against the rate limit of the client's IP address",
    async (_, text) => {
      const reported: unknown[] = [];
      const reporter = { report: (error: unknown) => void reported.push(error), async close() {} };
      const metrics = buildMetrics();
      // The clock of this server does not advance, so that the rate limit window cannot end during the test.
      const now = new Date();
      const clock = { now: () => now };
      const server = await startServerForTest({ on: db, dependencies: { reporter, metrics, clock } });
      await db.sql('delete from rate_limits');
      const times = 20;
      for (let n = 0; n < times; n++) {
        const { send, socket } = await openConnection(server);
        await send(text);
        socket.resetAndDestroy();
      }
      await expect.poll(() => requestLines(server)).toHaveLength(times);
      expect(linesOf(server).filter(({ level }) => level > 30)).toEqual([]);
      expect(reported).toEqual([]);
      const counted = await metrics.write(server.dependencies.database);
      expect(counted.text).not.toMatch(/idea_board_http_requests_total\{[^}]*status="5/);
      // Waits, because the server may count the request against the rate limit only after it has written the log line.
      const charged = async () =>
        await db.sql(`select sum(count)::int as count from rate_limits where key like 'ip:%'`);
      await expect.poll(charged).toEqual([{ count: times }]);
      // After one connection was reset, the server must still answer requests on other connections.
      expect((await request(server, 'GET /health')).status).toBe(200);
    },
  );

  test('the server logs one line with the status 499 for a request that the client aborts', async () => {
    const server = await start();
    const { send, socket } = await openConnection(server);
    await send(`POST /api/v1/mcp HTTP/1.1\r\n${json}X-Request-Id: left-1\r\nContent-Length: 100\r\n\r\n{`);
    socket.resetAndDestroy();
    await expect
      .poll(() => requestLines(server))
      .toMatchObject([{ level: 30, reqId: 'left-1', method: 'POST', path: '/api/v1/mcp', status: 499 }]);
  });
});

describe('invalid HTTP', () => {
  const refused: [string, string, ErrorKey][] = [
    ['unknown method', 'FROB /health HTTP/1.1\r\nHost: x\r\n\r\n', 'unknown_method'],
    ['method in lower case', 'get /health HTTP/1.1\r\nHost: x\r\n\r\n', 'unknown_method'],
    ['the method CONNECT', 'CONNECT example.com:80 HTTP/1.1\r\nHost: example.com\r\n\r\n', 'unknown_method'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01', 'unknown_method'],
    [
      'Content-Length without a number',
      'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
      'invalid_content_length',
    ],
    [
      'two Content-Lengths',
      'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'invalid_content_length',
    ],
    ['header without a colon', 'GET /health HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n', 'bad_request'],
    ['unknown HTTP version', 'GET /health HTTP/9.9\r\nHost: x\r\n\r\n', 'bad_request'],
    [
      'Content-Length beside chunks',
      'POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n',
      'invalid_content_length',
    ],
    [
      'header of 17,000 characters',
      `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
      'headers_too_large',
    ],
    ['path of 17,000 characters', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 'headers_too_large'],
    ['missing Host', 'GET /no/path HTTP/1.1\r\nConnection: close\r\n\r\n', 'bad_request'],
    [
      'unknown Expect',
      'GET /no/path HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n',
      'expectation_failed',
    ],
  ];

  test.each(refused)(
    'the answer to an invalid HTTP request has the error body that the contract declares, and a request id: %s',
    async (_, text, key) => {
      const server = await start();
      const { status, headers, body } = await exchangeRaw(server, text);
      const { status: expected, meaning: message } = errors[key];
      expect({ status, body }).toEqual({ status: expected, body: { error: { key, message } } });
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      const id = headers.get('x-request-id');
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      await expect.poll(() => requestLines(server)).toMatchObject([{ level: 30, reqId: id, status: expected }]);
      expect(linesOf(server).filter(({ level }) => level > 30)).toEqual([]);
      // The log must not quote the invalid request.
      expect(server.logLines.join('')).not.toContain('xxx');
    },
  );

  test('a client never gets the error for an invalid HTTP request as the answer to the valid request before it on the connection', async () => {
    const server = await start();
    const { send, closed } = await openConnection(server);
    await send('GET /health HTTP/1.1\r\nHost: x\r\n\r\nbroken');
    // If the server answered the invalid request with 400, the client would read this answer as the answer to its first
    // request.
    expect((await closed).match(/^HTTP\/1\.1 \d+/)?.[0] ?? 'HTTP/1.1 200').toBe('HTTP/1.1 200');
  });

  test('if a client sends no request on a connection, the server closes the connection after the request timeout without an answer', async () => {
    const server = await start({ REQUEST_TIMEOUT_MS: '200' });
    const { closed } = await openConnection(server);
    expect(await closed).toBe('');
    expect(requestLines(server)).toEqual([]);
  });
});
