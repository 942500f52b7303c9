import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IdeaBoard, type IdeaBoardOptions } from '../../client/main.ts';
import { createBoard, createTag, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { startGatewayForTest } from './gateway.ts';

let server: TestServer;
let world: World;
let client: IdeaBoard;
let token: string;

beforeAll(async () => {
  server = await startServer();
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'moderate'));
  client = new IdeaBoard({ baseUrl: server.baseUrl, token });
});

afterAll(() => server.close());

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

  test('the option board of a call overrides the board of the client, and reading the token needs no board', async () => {
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

describe('construction of the client', () => {
  test('the client uses the option fetch and sends the option headers, but an Authorization header among them does not replace the token', async () => {
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

  test('the client removes spaces around the option baseUrl and a line break after the option token', async () => {
    const pasted = new IdeaBoard({ baseUrl: ` ${server.baseUrl}/ `, token: `${token}\n` });
    expect((await pasted.token.get()).boards).toHaveLength(1);
  });

  test('if the option baseUrl of the client contains a path, the client puts this path before the path of every request', async () => {
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
