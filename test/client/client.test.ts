import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { IdeaBoard, type IdeaBoardOptions, isIdeaBoardError, type LogLevel } from '../../client/main.ts';
import { createBoard, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startGatewayForTest } from './gateway.ts';

let client: IdeaBoard;

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'moderate');
client = new IdeaBoard({ baseUrl: server.baseUrl, token });

describe('operations of the client', () => {
  test('the client can create, read and list ideas, vote and comment on an idea, and read the board and the token', async () => {
    const created = await client.ideas.create({ title: 'Dark mode', body: 'For late evenings.' });
    expect(created).toMatchObject({ title: 'Dark mode', moderation_state: 'published' });
    expect(await client.ideas.vote(created.id, { value: 'up' })).toMatchObject({ score: 1, my_vote: 'up' });
    const comment = await client.ideas.comment(created.id, { body: 'Please.' });
    expect((await client.ideas.comments(created.id)).data).toEqual([comment]);
    expect(await client.ideas.get(created.id)).toMatchObject({ id: created.id, score: 1, comment_count: 1 });
    expect((await client.ideas.list({ q: 'dar mo' })).data.map(({ id }) => id)).toEqual([created.id]);
    expect((await client.board.get()).board.slug).toBe(world.boardSlug);
    expect((await client.token.get()).boards).toMatchObject([{ slug: world.boardSlug, grant: 'moderate' }]);
  });

  test('the client can set the status of an idea, add and remove its tags, merge two ideas, and undo the merge', async () => {
    const [id, targetId] = [await insertIdea(server, world), await insertIdea(server, world)];
    const tagId = await createTag(server, world.accountId, world.boardId);
    expect(await client.ideas.setStatus(id, { status: 'planned' })).toMatchObject({ status_key: 'planned' });
    expect(await client.ideas.addTag(id, { tag_id: tagId })).toMatchObject({ tags: [{ id: tagId }] });
    expect(await client.ideas.removeTag(id, tagId)).toMatchObject({ tags: [] });
    expect(await client.ideas.merge(id, { target_id: targetId })).toMatchObject({ idea: { merged_into_id: targetId } });
    expect(await client.ideas.unmerge(id)).toMatchObject({ idea: { merged_into_id: null }, target: { id: targetId } });
    expect(await client.ideas.get(id)).toMatchObject({ status_key: 'planned', tags: [], merged_into_id: null });
  });

  test('the option `board` of a single call overrides the option `board` of the client, and the method that reads the token needs no board', async () => {
    const other = await createBoard(server, world.accountId);
    const both = await issueToken(server, world, { [world.boardId]: 'write', [other.id]: 'write' });
    const onOne = new IdeaBoard({ baseUrl: `${server.baseUrl}/`, token: both.token, board: world.boardSlug });
    expect((await onOne.board.get()).board.id).toBe(world.boardId);
    expect((await onOne.board.get({ board: other.slug })).board.id).toBe(other.id);
    const created = await onOne.ideas.create({ title: 'There', body: 'And not here.' }, { board: other.slug });
    expect(await onOne.ideas.get(created.id, { board: other.slug })).toMatchObject({ title: 'There' });
    await expect(onOne.ideas.get(created.id)).rejects.toMatchObject({ key: 'not_found' });
    expect((await onOne.ideas.list({}, { board: other.slug })).data).toHaveLength(1);
    expect((await onOne.token.get()).boards).toHaveLength(2);
  });
});

describe('response metadata and hooks', () => {
  test('withResponse() of a client call returns the HTTP status, the request id, the headers and the rate limit of the response', async () => {
    const { data, status, requestId, headers, rateLimit, isReplay, attempts } = await client.ideas
      .create({ title: 'With it', body: 'All.' }, { headers: { 'X-Request-Id': 'release-42' } })
      .withResponse();
    expect({ title: data.title, status, requestId, isReplay, attempts }).toEqual({
      title: 'With it',
      status: 201,
      requestId: 'release-42',
      isReplay: false,
      attempts: 1,
    });
    expect(headers.get('content-type')).toMatch('application/json');
    expect(rateLimit).toMatchObject({ bucket: 'apitoken:write', limit: 1_000_000 });
    expect((await client.ideas.list().withResponse()).rateLimit?.bucket).toBe('apitoken:read');
  });

  test('the hooks of the client receive every request, response and retry, but never the token or a body', async () => {
    const calls: unknown[] = [];
    const gateway = await startGatewayForTest(server.baseUrl);
    const watched = new IdeaBoard({
      baseUrl: gateway.url,
      token,
      hooks: {
        // Hooks may be methods that use `this`, such as methods of a logger object.
        onRequest(event) {
          expect(this).toHaveProperty('onRetry');
          calls.push({ hook: 'request', ...event });
        },
        onResponse: event => calls.push({ hook: 'response', ...event }),
        onRetry: event => calls.push({ hook: 'retry', ...event }),
      },
    });
    gateway.plan({ status: 503, body: { error: { key: 'service_unavailable', message: 'Soon.' } } });
    await watched.ideas.create({ title: 'Watched', body: 'A secret plan.' });
    const about = { operation: 'createIdea', method: 'POST', url: `${gateway.url}/api/v1/ideas` };
    const idempotencyKey = gateway.requests[0]?.headers['idempotency-key'];
    expect(calls).toEqual([
      { hook: 'request', ...about, attempt: 1, idempotencyKey },
      expect.objectContaining({ hook: 'response', ...about, attempt: 1, status: 503, durationMs: expect.any(Number) }),
      expect.objectContaining({ hook: 'retry', ...about, attempt: 1, delayMs: expect.any(Number) }),
      { hook: 'request', ...about, attempt: 2, idempotencyKey },
      expect.objectContaining({ hook: 'response', ...about, attempt: 2, status: 201, requestId: expect.any(String) }),
    ]);
    expect(JSON.stringify(calls)).not.toMatch(/secret plan|ib_\d/);
  });

  test("a call of the client succeeds even if one of the client's hooks throws an error", async () => {
    const fail = () => {
      throw new Error('The log is full');
    };
    const hooks = { onRequest: fail, onResponse: async () => fail() };
    const careless = new IdeaBoard({ baseUrl: server.baseUrl, token, hooks });
    expect(await careless.ideas.create({ title: 'Done', body: 'All the same.' })).toMatchObject({ title: 'Done' });
  });
});

describe('requests without a method', () => {
  test("client.request() calls an operation by its HTTP method and path, and uses the client's token, board, retries and error types", async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const both = new IdeaBoard({ baseUrl: gateway.url, token, board: world.boardSlug });
    const body = { title: 'By hand', body: 'And typed.' };
    gateway.plan('lose the answer');
    const created = await both
      .request<{ id: number }>({ method: 'POST', path: '/api/v1/ideas', body }, { idempotencyKey: 'by-hand' })
      .withResponse();
    expect(created).toMatchObject({ status: 201, attempts: 2, isReplay: true, data: { title: 'By hand' } });
    expect(gateway.requests[0]).toMatchObject({ path: `/api/v1/ideas?board=${world.boardSlug}` });
    const query = { q: 'by hand', per_page: 1, sort: undefined };
    const list = await both.request<{ data: unknown[] }>({ method: 'GET', path: '/api/v1/ideas', query });
    expect(list.data).toMatchObject([{ id: created.data.id }]);

    const error = await both.request({ method: 'GET', path: '/api/v1/reactions' }).catch((reason: unknown) => reason);
    if (!isIdeaBoardError(error)) throw error;
    expect(error).toMatchObject({ name: 'ApiError', key: 'not_found', operation: 'GET /api/v1/reactions' });
  });

  test('client.request() accepts a successful response with any JSON value or without a body', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const { request } = bound(new IdeaBoard({ baseUrl: gateway.url, token }));
    gateway.plan({ status: 204 }, { status: 200, body: [7] }, { status: 200, body: '<html>' });
    expect(await request({ method: 'DELETE', path: '/api/v1/reactions/7' })).toBeUndefined();
    expect(await request({ method: 'GET', path: '/api/v1/reactions' })).toEqual([7]);
    await expect(request({ method: 'GET', path: '/api/v1/reactions' })).rejects.toMatchObject({
      key: 'unexpected_answer',
    });
  });

  test.each(['api/v1/ideas', '/api/v1/../admin', '/api/%2e%2e/x', '/api/v1/ideas?q=1', '/api/v1/ideas#1', '/api/v1 /'])(
    'client.request() rejects the path "%s" and sends no request',
    async path => {
      const gateway = await startGatewayForTest(server.baseUrl);
      const { request } = bound(new IdeaBoard({ baseUrl: gateway.url, token }));
      await expect(request({ method: 'GET', path })).rejects.toMatchObject({
        key: 'invalid_request',
        issues: [{ path: ['path'] }],
      });
      expect(gateway.requests).toEqual([]);
    },
  );

  test('client.request() accepts a colon in the path and rejects an unknown HTTP method or request field with a TypeError', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const { request } = bound(new IdeaBoard({ baseUrl: gateway.url, token }));
    gateway.plan({ status: 200, body: {} });
    await request({ method: 'GET', path: '/api/v1/ideas/7:export' });
    expect(gateway.requests.map(({ path }) => path)).toEqual(['/api/v1/ideas/7:export']);
    await expect(request({ method: 'get' as never, path: '/' })).rejects.toThrow(/"method" must be one of GET, POST/);
    await expect(request({ method: 'GET', path: '/', params: {} } as never)).rejects.toThrow(/"params" does not exist/);
    expect(gateway.requests).toHaveLength(1);
  });

  const bound = (one: IdeaBoard) => ({ request: one.request.bind(one) });
});

describe('withOptions', () => {
  test('withOptions() of a client returns a second client with the changed options, and the first client keeps its own options', async () => {
    const other = await createBoard(server, world.accountId);
    const both = await issueToken(server, world, { [world.boardId]: 'write', [other.id]: 'write' });
    const one = new IdeaBoard({ baseUrl: server.baseUrl, token: both.token, board: world.boardSlug });
    const two = one.withOptions({ board: other.slug });
    expect((await two.board.get()).board.id).toBe(other.id);
    expect((await one.board.get()).board.id).toBe(world.boardId);
    expect(() => one.withOptions({ token: '' })).toThrow(TypeError);
  });

  test('a client from withOptions() shares the retry budget of the client that created it and, by default, also the cache of this client', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const one = new IdeaBoard({ baseUrl: gateway.url, token, cache: true, maxRetries: 10, maxRetryDelayMs: 0 });
    const two = one.withOptions({ timeoutMs: 1000 });
    await one.board.get();
    expect((await two.board.get().withResponse()).status).toBe(304);
    gateway.plan(...Array(12).fill({ status: 503, body: {} }));
    await expect(one.board.get()).rejects.toMatchObject({ isRetryBudgetSpent: false, attempts: 11 });
    await expect(two.board.get()).rejects.toMatchObject({ isRetryBudgetSpent: true, attempts: 1 });
  });
});

describe('logs', () => {
  function recordLogs() {
    const lines: string[] = [];
    const record = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
    const logger = { error: record('error'), warn: record('warn'), info: record('info'), debug: record('debug') };
    return { lines, logger };
  }

  test('each log level of the client also includes the messages of all less detailed levels, and no message contains the token or a body', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const fail = () => {
      throw new Error('The hook is broken');
    };
    const kindsAt = async (logLevel: LogLevel) => {
      const { lines, logger } = recordLogs();
      gateway.plan({ status: 503, body: {} });
      const options = { baseUrl: gateway.url, token, logLevel, logger, maxRetryDelayMs: 0, hooks: { onRetry: fail } };
      await new IdeaBoard(options).ideas.create({ title: 'Logged', body: 'A secret plan.' });
      expect(lines.join('\n')).not.toMatch(/secret plan|ib_\d/);
      return lines.map(line => line.replace(/ms,? .*$|request id .*$/, '').replaceAll(/\d+ (?=ms|$)/g, 'N '));
    };
    expect(await kindsAt('off')).toEqual([]);
    const broken = 'error [idea-board] The hook onRetry failed: Error: The hook is broken';
    expect(await kindsAt('error')).toEqual([broken]);
    const retry = expect.stringMatching(/^warn \[idea-board\] createIdea: attempt 1 failed, retry in /);
    expect(await kindsAt('warn')).toEqual([retry, broken]);
    const answer = (status: number) =>
      expect.stringMatching(new RegExp(`^info \\[idea-board\\] createIdea: status ${status} after `));
    expect(await kindsAt('info')).toEqual([answer(503), retry, broken, answer(201)]);
    const send = (attempt: number) =>
      `debug [idea-board] createIdea: attempt ${attempt} sends POST ${gateway.url}/api/v1/ideas`;
    expect(await kindsAt('debug')).toEqual([send(1), answer(503), retry, broken, send(2), answer(201)]);
  });

  test('the environment variable IDEA_BOARD_LOG sets the log level, and the option logLevel overrides it', async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv('IDEA_BOARD_LOG', 'info');
    const { lines, logger } = recordLogs();
    await new IdeaBoard({ baseUrl: server.baseUrl, token, logger }).board.get();
    expect(lines).toEqual([expect.stringMatching(/^info .* getBoard: status 200 after \d+ ms, request id /)]);
    await new IdeaBoard({ baseUrl: server.baseUrl, token, logger, logLevel: 'off' }).board.get();
    expect(lines).toHaveLength(1);
    vi.stubEnv('IDEA_BOARD_LOG', 'loud');
    await new IdeaBoard({ baseUrl: server.baseUrl, token, logger }).board.get();
    expect(lines.slice(1)).toEqual([
      'warn [idea-board] IDEA_BOARD_LOG must be one of off, error, warn, info, debug, but is "loud"',
    ]);
  });
});

describe('headers and options of fetch', () => {
  test('the header User-Agent of a request ends with the name and version of the client, even if the program sets this header', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    await new IdeaBoard({ baseUrl: gateway.url, token }).board.get();
    const headers = { 'User-Agent': 'feedback-bot/2.1' };
    await new IdeaBoard({ baseUrl: gateway.url, token, headers }).board.get();
    const { version } = JSON.parse(readFileSync(new URL('../../client/package.json', import.meta.url), 'utf8'));
    expect(gateway.requests.map(one => one.headers['user-agent'])).toEqual([
      `idea-board-client/${version}`,
      `feedback-bot/2.1 idea-board-client/${version}`,
    ]);
  });

  test("the client does not set the header User-Agent in a browser, because a server's CORS rules may not allow this header", async () => {
    onTestFinished(() => void vi.unstubAllGlobals());
    const gateway = await startGatewayForTest(server.baseUrl);
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/150.0' });
    await new IdeaBoard({ baseUrl: gateway.url, token }).board.get();
    expect(gateway.requests[0]?.headers['user-agent']).not.toMatch(/idea-board/);
  });

  test('the client passes `fetchOptions` to `fetch`, and the `fetchOptions` of a single call override only the options that they contain', async () => {
    const seen: RequestInit[] = [];
    const fetchOptions = { keepalive: true, cache: 'no-store', tls: { ca: 'of one runtime' } } as const;
    const client = new IdeaBoard({
      baseUrl: server.baseUrl,
      token,
      fetchOptions,
      fetch: (url, init) => {
        seen.push(init);
        return fetch(url, init);
      },
    });
    await client.board.get();
    await client.ideas.list({}, { fetchOptions: { cache: 'reload' } });
    expect(seen).toMatchObject([
      { keepalive: true, cache: 'no-store', method: 'GET', redirect: 'manual' },
      { keepalive: true, cache: 'reload', method: 'GET', redirect: 'manual' },
    ]);
  });
});

describe('construction of the client', () => {
  test('the client calls the function in its option `fetch` and sends the headers in its option `headers`, except an Authorization header', async () => {
    const urls: string[] = [];
    const fetched = new IdeaBoard({
      baseUrl: server.baseUrl,
      token,
      headers: { 'X-Request-Id': 'of-the-client', Authorization: 'Bearer of-nobody' },
      fetch: (url, init) => {
        urls.push(url);
        return fetch(url, init);
      },
    });
    expect((await fetched.board.get().withResponse()).requestId).toBe('of-the-client');
    expect(urls).toEqual([`${server.baseUrl}/api/v1/board`]);
  });

  test('printing a client or converting it to JSON does not reveal its token', async () => {
    const { inspect } = await import('node:util');
    expect(inspect(client, { depth: 9, showHidden: true })).not.toContain(token);
    expect(JSON.stringify(client)).not.toContain(token);
  });

  test.each<[string, Partial<IdeaBoardOptions>]>([
    ['a host name without a scheme', { baseUrl: 'ideas.example.com' }],
    ['an address that is not HTTP', { baseUrl: 'file:///etc' }],
    ['an address with a query', { baseUrl: 'http://127.0.0.1/?board=web-app' }],
    ['an address with credentials', { baseUrl: 'http://ada:secret@127.0.0.1' }],
    ['an empty token', { token: '' }],
    ['a token of two lines', { token: 'ib_1_secret\nib_2_secret' }],
  ])('the constructor of the client rejects %s with a TypeError that contains no secret', (_, wrong) => {
    const make = () => new IdeaBoard({ baseUrl: server.baseUrl, token, ...wrong });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/^((?!secret).)*$/);
  });

  test('the client ignores spaces around its baseUrl and a line break at the end of its token', async () => {
    const pasted = new IdeaBoard({ baseUrl: ` ${server.baseUrl}/ `, token: `${token}\n` });
    expect((await pasted.token.get()).boards).toHaveLength(1);
  });

  test('if the option `baseUrl` of the client contains a path, the client puts this path before the path of every request', async () => {
    const urls: string[] = [];
    const fetchInstead = (url: string, init: RequestInit) => {
      urls.push(url);
      return fetch(url.replace('/behind/a/proxy', ''), init);
    };
    const behind = new IdeaBoard({ baseUrl: `${server.baseUrl}/behind/a/proxy/`, token, fetch: fetchInstead });
    await behind.ideas.list({ per_page: 1 });
    expect(urls).toEqual([`${server.baseUrl}/behind/a/proxy/api/v1/ideas?per_page=1`]);
  });
});
