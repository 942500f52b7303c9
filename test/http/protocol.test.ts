import { describe, expect, test } from 'vitest';
import { contract } from '../../contract/index.ts';
import type { RouteMetadata } from '../../contract/routes.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { createTargets, operations, requestOf } from '../helpers/operations.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest, type TestServer } from '../helpers/server.ts';

let token: string;

const server = await startServerForFile();
const world = await createWorld(server);
const ideaId = await insertIdea(server, world);
({ token } = await issueToken(server, world, 'moderate'));

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** One request for every kind of answer, with the expected HTTP status of the answer. */
const everyKind: [string, number, { token?: boolean; json?: unknown; text?: string }][] = [
  ['GET /api/v1/board', 200, { token: true }],
  ['POST /api/v1/ideas', 201, { token: true, json: { title: 'A title', body: 'A body.' } }],
  ['GET /api/v1/board', 401, {}],
  ['GET /api/v1/board?board=other', 403, { token: true }],
  ['GET /api/v1/ideas/999999999', 404, { token: true }],
  ['GET /no/such/path', 404, {}],
  ['GET /api/v1/ideas/%zz', 404, { token: true }],
  ['PATCH /api/v1/board', 405, { token: true }],
  ['POST /api/v1/ideas', 400, { token: true, text: '{' }],
  ['POST /api/v1/ideas', 422, { token: true, json: {} }],
  ['GET /health', 200, {}],
  ['GET /ready', 503, {}],
  ['GET /api/v1/openapi.json', 200, {}],
  ['GET /docs/', 200, {}],
];

function sendKind([line, , kind]: (typeof everyKind)[number], headers: Record<string, string> = {}) {
  return request(server, line, {
    token: kind.token ? token : undefined,
    ...(kind.json === undefined ? {} : { json: kind.json }),
    ...(kind.text === undefined ? {} : { raw: kind.text }),
    headers: { ...(kind.text === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
  });
}

describe('X-Request-Id', () => {
  test.each(everyKind)(
    "the answer to %s with status %d contains the client's request id if this id is valid, and otherwise a new request id",
    async (...kind) => {
      const [, status] = kind;
      const made = await sendKind(kind);
      expect(made.status).toBe(status);
      expect(made.headers.get('x-request-id')).toMatch(uuid);
      const kept = await sendKind(kind, { 'x-request-id': 'client-7.b_~1' });
      expect(kept.headers.get('x-request-id')).toBe('client-7.b_~1');
    },
  );

  test.each([
    ['too long', 'a'.repeat(129)],
    ['two words', 'a b'],
    ['a text with a quote', 'a"b'],
    ['JSON', '{"a":1}'],
    ['a path', 'a/b'],
    ['not ASCII', 'caf\u00e9'],
    ['empty', ''],
  ])('the server replaces an invalid request id of the client (%s) with a new request id', async (_, id) => {
    const answer = await request(server, 'GET /api/v1/board', { token, headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toMatch(uuid);
  });

  test("the server keeps and logs a client's request id of 128 characters", async () => {
    const id = 'a'.repeat(128);
    const answer = await request(server, 'GET /api/v1/board', { token, headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toBe(id);
    expect(requestLines().filter(line => line.reqId === id)).toMatchObject([{ path: '/api/v1/board', status: 200 }]);
  });

  test('the server gives each request its own request id if the client sends none', async () => {
    const answers = await Promise.all([...Array(20)].map(() => request(server, 'GET /health')));
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(20);
  });
});

interface LogLine {
  msg: string;
  reqId?: string;
  path?: string;
  status?: number;
  err?: { stack: string; message: string };
}

function requestLines(of: TestServer = server): LogLine[] {
  return of.logLines.map(line => JSON.parse(line) as LogLine).filter(({ msg }) => msg === 'request');
}

describe('a HEAD request', () => {
  const gets = Object.values(contract).filter(({ method }) => method === 'GET');

  test.each(gets)(
    'a HEAD request for $path gets the same answer as a GET request, but without the body',
    async route => {
      const path = route.path.replace(':id', String(ideaId));
      const options = (route.metadata as RouteMetadata).auth === 'none' ? {} : { token };
      const get = await request(server, `GET ${path}`, options);
      const head = await request(server, `HEAD ${path}`, options);
      expect(head.status).toBe(get.status);
      expect(head.text).toBe('');
      expect(get.text).not.toBe('');
      const names = ['content-type', 'etag', 'cache-control', 'ratelimit-policy', 'x-ratelimit-limit'];
      for (const name of names) expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
      // Only the body of GET /api/v1/token varies in length, because it contains the number of remaining requests.
      if (route.path !== '/api/v1/token') {
        expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
      }
    },
  );

  test('a HEAD request that the server refuses gets the HTTP status of the error and no body', async () => {
    for (const [line, options, status] of [
      ['HEAD /api/v1/board', {}, 401],
      ['HEAD /api/v1/ideas/999999999', { token }, 404],
      ['HEAD /api/v1/ideas?page=0', { token }, 422],
      ['HEAD /no/such/path', {}, 404],
    ] as const) {
      const answer = await request(server, line, options);
      expect([line, answer.status, answer.text]).toEqual([line, status, '']);
    }
  });
});

describe('an unsupported method', () => {
  const paths = [...new Set(Object.values(contract).map(({ path }) => path))];

  test.each(paths)('a request to %s with an unsupported method gets 405 and an Allow header', async path => {
    const allowed = Object.values(contract)
      .filter(route => route.path === path)
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const url = path.replace(':id', String(ideaId)).replace(':tagId', '1');
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']) {
      if (allowed.includes(method)) continue;
      // For PATCH and DELETE, the router reads "similar" in this path as the id of an idea. So the endpoints for a
      // single idea handle these requests.
      if (path === '/api/v1/ideas/similar' && ['PATCH', 'DELETE'].includes(method)) continue;
      const answer = await rawRequest(server, method, url, { token });
      expect([method, answer.status]).toEqual([method, 405]);
      if (method !== 'HEAD') expect(answer.key).toBe('method_not_allowed');
      expect(answer.headers.get('allow')?.split(', ').sort()).toEqual([...allowed].sort());
    }
  });

  test('a request for the OpenAPI document with an unsupported method gets 405', async () => {
    const answer = await request(server, 'POST /api/v1/openapi.json');
    expect(answer).toMatchObject({ status: 405, key: 'method_not_allowed' });
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });

  test('a GET, POST, DELETE, OPTIONS or TRACE request to an unknown path gets 404', async () => {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'TRACE']) {
      const answer = await rawRequest(server, method, '/api/v1/nothing', { token });
      expect([method, answer.status, answer.key]).toEqual([method, 404, 'not_found']);
      expect(answer.headers.get('allow')).toBeNull();
    }
  });
});

describe('an invalid path', () => {
  test.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/api/v1/board/',
    '/api/v1/ideas/',
    '/api/v1/ideas/1/vote/',
    '/api/v1//board',
    '/API/v1/board',
    '/api/v2/board',
    '/health/',
    '/ready/',
    '/api/v1/token/1',
    '/api/v1/ideas/1/nonsense',
    '/api/v1/ideas/1/2/3/4',
    '/.env',
    '/api/v1/ideas/%zz',
    '/api/v1/ideas/%',
    '/%',
    '/api/v1/ideas/%c3%28',
    '/%00',
    '/docs/../api/v1/nothing',
    '/api/v1/ideas/..%2f..%2fhealth',
    `/api/v1/ideas/${'9'.repeat(101)}`,
    `/${'a'.repeat(5000)}`,
  ])('a request to the invalid path %s gets 404', async path => {
    const answer = await rawRequest(server, 'GET', path, { token });
    expect(answer).toMatchObject({ status: 404, key: 'not_found' });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Object.keys(answer.body.error)).toEqual(['key', 'message']);
  });

  test.each([
    '0',
    '-1',
    '1.0',
    '1e3',
    '0x1',
    '+1',
    '%201',
    'abc',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '99999999999999999999999999',
  ])('a request to a path with the invalid id %s gets 404', async id => {
    for (const line of [`GET /api/v1/ideas/${id}`, `GET /api/v1/ideas/${id}/comments`]) {
      expect(await request(server, line, { token })).toMatchObject({ status: 404, key: 'not_found' });
    }
    const voting = await request(server, `POST /api/v1/ideas/${id}/vote`, { token, json: { value: 'up' } });
    expect(voting).toMatchObject({ status: 404, key: 'not_found' });
  });
});

describe('the caching headers', () => {
  test('only the client may cache the answer for the board, every cache may store the OpenAPI document, and no cache may store other answers', async () => {
    const kept: Record<string, string> = {
      'GET /api/v1/board 200': 'private, no-cache',
      'GET /api/v1/openapi.json 200': 'public, max-age=300',
    };
    for (const kind of everyKind) {
      const [line, status] = kind;
      const { headers } = await sendKind(kind);
      const what = `${line} ${status}`;
      expect([what, headers.get('cache-control')]).toEqual([what, kept[what] ?? 'no-store']);
      expect([what, headers.get('x-content-type-options')]).toEqual([what, 'nosniff']);
    }
  });

  test('responses to successful reads of board data have a weak ETag, and responses to writes, to GET /api/v1/token and with 404 have none', async () => {
    for (const operation of operations) {
      const sent = requestOf(operation, await createTargets(server, world));
      const { status, headers } = await request(server, sent.line, { token, json: sent.json });
      expect([200, 201]).toContain(status);
      const isTagged = operation.method === 'GET' && operation.id !== 'getToken';
      const tag = headers.get('etag');
      if (isTagged) expect([operation.id, tag]).toEqual([operation.id, expect.stringMatching(/^W\/"[\w-]{27}"$/)]);
      else expect([operation.id, tag]).toEqual([operation.id, null]);
    }
    expect((await request(server, 'GET /api/v1/ideas/999999999', { token })).headers.get('etag')).toBeNull();
  });
});

describe('If-None-Match', () => {
  const path = () => `/api/v1/ideas/${ideaId}`;
  const get = (ifNoneMatch: string, method = 'GET') =>
    request(server, `${method} ${path()}`, { token, headers: { 'if-none-match': ifNoneMatch } });
  const currentTag = async () => (await request(server, `GET ${path()}`, { token })).headers.get('etag') ?? '';

  const expectNotModified = (answer: Answer, tag: string) => {
    expect(answer).toMatchObject({ status: 304, text: '' });
    expect(answer.headers.get('etag')).toBe(tag);
    expect(answer.headers.get('content-type')).toBeNull();
    expect(answer.headers.get('cache-control')).toBe('private, no-cache');
  };

  test('a read gets 304 if If-None-Match contains the current ETag as a weak ETag, as a strong ETag or in a list', async () => {
    const tag = await currentTag();
    const strong = tag.replace('W/', '');
    for (const value of [tag, strong, `"other", ${tag}`, `${tag},"other"`, `W/"a" , ${strong} , "b"`]) {
      expectNotModified(await get(value), tag);
      expectNotModified(await get(value, 'HEAD'), tag);
    }
  });

  test('a read whose If-None-Match does not contain the current ETag gets 200', async () => {
    const tag = await currentTag();
    const opaque = tag.slice(3, -1);
    for (const value of [
      '"other"',
      'W/"other"',
      opaque,
      `"${opaque.toLowerCase()}x"`,
      'W/""',
      '',
      '"*"',
      '*',
      ' * ',
      `${tag}x`,
    ]) {
      expect([value, (await get(value)).status]).toEqual([value, 200]);
    }
  });

  test('if the answer for an idea changes, its ETag also changes, and if the answer changes back, the old ETag is valid again', async () => {
    const before = await currentTag();
    expect(await currentTag()).toBe(before);
    await request(server, `POST ${path()}/vote`, { token, json: { value: 'up' } });
    const after = await currentTag();
    expect(after).not.toBe(before);
    expect((await get(before)).status).toBe(200);
    await request(server, `POST ${path()}/vote`, { token, json: { value: 'none' } });
    expectNotModified(await get(before), before);
  });

  test('two tokens that get different answers to the same read request also get different ETags', async () => {
    await request(server, `POST ${path()}/vote`, { token, json: { value: 'up' } });
    const mine = await currentTag();
    const other = await issueToken(server, world, 'read');
    const theirs = await request(server, `GET ${path()}`, { token: other.token });
    expect(theirs.headers.get('etag')).not.toBe(mine);
  });

  test('the server ignores If-None-Match in writes and in requests that get 401 or 404', async () => {
    const headers = { 'if-none-match': '*' };
    expect((await request(server, `GET ${path()}`, { headers })).status).toBe(401);
    expect((await request(server, 'GET /api/v1/ideas/999999999', { token, headers })).status).toBe(404);
    const json = { value: 'down' };
    expect((await request(server, `POST ${path()}/vote`, { token, json, headers })).status).toBe(200);
  });
});

describe('a failure of the server', () => {
  test('the answer after an internal error hides the cause, and the log has the stack trace without request values, tokens and e-mail addresses', async () => {
    const broken = await startServerForTest();
    const there = await createWorld(broken);
    const { token: own } = await issueToken(broken, there, 'moderate');
    const id = await insertIdea(broken, there);
    const secret = own.replace(/^ib_\d+_/, '');
    await broken.sql('drop table followers cascade');
    await broken.sql('drop table idea_tags cascade');

    const title = 'A title that must stay secret';
    const answers = [
      await request(broken, 'POST /api/v1/ideas', { token: own, json: { title, body: 'Nor this body.' } }),
      await request(broken, 'GET /api/v1/ideas?q=private-words', { token: own }),
      await request(broken, `GET /api/v1/ideas/${id}`, { token: own }),
      await request(broken, `POST /api/v1/ideas/${id}/tags`, { token: own, json: { tag_id: 987_654_321 } }),
      await request(broken, `POST /api/v1/ideas/${id}/comments`, { token: own, json: { body: 'Nor this comment.' } }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 500, key: 'internal_error' });
      expect(answer.body).toEqual({ error: { key: 'internal_error', message: expect.any(String) } });
      expect(answer.text).not.toMatch(/relation|idea_tags|followers|select|insert|postgres|\/server\/|node_modules/i);
      expect(answer.headers.get('x-request-id')).toMatch(uuid);
    }
    expect(await broken.sql('select from ideas')).toHaveLength(1);
    expect(await broken.sql('select from comments')).toEqual([]);

    const failures = broken.logLines.map(line => JSON.parse(line) as LogLine).filter(({ err }) => err);
    expect(failures.map(({ reqId }) => reqId)).toEqual(answers.map(({ headers }) => headers.get('x-request-id')));
    for (const { err } of failures) {
      expect(err?.message).toMatch(/relation "(idea_tags|followers)" does not exist/);
      expect(err?.stack).toMatch(/\n +at .+:\d+:\d+/);
    }
    const log = broken.logLines.join('');
    for (const value of [title, 'Nor this', 'private-words', '987654321', secret, own, '@example.com']) {
      expect([value, log.includes(value)]).toEqual([value, false]);
    }
  });
});

describe('the log', () => {
  test('the log has one line for each request, with the path and the status but without the query string', async () => {
    server.logLines.length = 0;
    await request(server, 'GET /api/v1/ideas?q=secret-words', { token });
    await request(server, 'GET /api/v1/ideas/%zz?q=secret-words');
    const { body } = await request(server, 'GET /api/v1/token', { token });
    await expect.poll(() => requestLines()).toHaveLength(3);
    expect(requestLines()).toMatchObject([
      { method: 'GET', path: '/api/v1/ideas', status: 200, tokenId: body.id },
      { method: 'GET', path: '/api/v1/ideas/%zz', status: 404 },
      { method: 'GET', path: '/api/v1/token', status: 200, tokenId: body.id },
    ]);
    expect(server.logLines.join('')).not.toContain('secret-words');
  });

  test('a token never appears in the log, even if a client sends this token in the path, the query, a header or the body', async () => {
    const debug = await startServerForTest({ environment: { LOG_LEVEL: 'trace' } });
    const there = await createWorld(debug);
    const { token: own } = await issueToken(debug, there, 'write');
    const secret = own.replace(/^ib_\d+_/, '');
    const inBody = { title: own, body: own };
    await request(debug, 'GET /api/v1/board', { token: own });
    await request(debug, 'GET /api/v1/board', { token: `${own}x` });
    await request(debug, 'GET /api/v1/board', { headers: { authorization: `Basic ${own}` } });
    await request(debug, `GET /api/v1/board?token=${own}`);
    await request(debug, `GET /api/v1/ideas/${own}`, { token: own });
    await request(debug, `GET /${own}`);
    await request(debug, `GET /${own}/%zz`);
    await request(debug, 'GET /api/v1/board', { token: own, headers: { cookie: own, 'x-request-id': own } });
    await request(debug, 'POST /api/v1/ideas', { token: own, json: inBody, headers: { 'idempotency-key': own } });
    await debug.sql('drop table ideas cascade');
    await request(debug, 'GET /api/v1/ideas', { token: own });
    await request(debug, 'POST /api/v1/ideas', { token: own, json: inBody });
    expect(debug.logLines.length).toBeGreaterThan(10);
    const log = debug.logLines.join('');
    expect(log).not.toContain(secret);
    expect(log.toLowerCase()).not.toContain('authorization');
    expect(log).not.toContain('Bearer');
  });
});
