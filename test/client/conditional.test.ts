import { beforeEach, describe, expect, test } from 'vitest';
import { type CachedResponse, IdeaBoard, MemoryCache, notModified } from '../../client/main.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Gateway, startGatewayForTest } from './gateway.ts';

let world: World;
let token: string;
let gateway: Gateway;
let ideaId: number;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'write'));
  ideaId = await insertIdea(server, world);
  gateway = await startGatewayForTest(server.baseUrl);
});

const sentTags = () => gateway.requests.map(({ headers }) => headers['if-none-match']);

describe('the option etag', () => {
  test("if the client reads an unchanged resource with the option `etag`, the call resolves to `notModified` and does not count against the token's rate limit", async () => {
    const client = new IdeaBoard({ baseUrl: gateway.url, token });
    const reads = [
      (etag: string | undefined) => client.board.get({ etag }),
      (etag: string | undefined) => client.ideas.get(ideaId, { etag }),
      (etag: string | undefined) => client.ideas.list({ per_page: 2 }, { etag }),
      (etag: string | undefined) => client.ideas.comments(ideaId, {}, { etag }),
    ];
    for (const read of reads) {
      const first = await read(undefined).withResponse();
      expect(first).toMatchObject({ status: 200, data: expect.any(Object), etag: expect.stringMatching(/^W\/"/) });
      const second = await read(first.etag).withResponse();
      expect(second).toMatchObject({ status: 304, data: notModified, etag: first.etag });
      expect(second.rateLimit?.remaining).toBe(first.rateLimit?.remaining);
    }
  });

  test('if the client reads a changed resource with an earlier etag, the call resolves to the new data', async () => {
    const client = new IdeaBoard({ baseUrl: gateway.url, token });
    const { etag } = await client.ideas.get(ideaId).withResponse();
    await client.ideas.vote(ideaId, { value: 'up' });
    expect(await client.ideas.get(ideaId, { etag })).toMatchObject({ id: ideaId, score: 1 });
  });

  test('a call of the client with the header If-None-Match but without the option `etag` fails with an error that names the option', async () => {
    const client = new IdeaBoard({ baseUrl: gateway.url, token });
    const { etag = '' } = await client.ideas.get(ideaId).withResponse();
    await expect(client.ideas.get(ideaId, { headers: { 'If-None-Match': etag } })).rejects.toMatchObject({
      key: 'unexpected_answer',
      message: 'The server answered 304. Use the option etag instead of the header If-None-Match.',
    });
  });
});

describe('the option cache', () => {
  test('a client with a cache returns the cached data while the server answers 304, and new data after a change', async () => {
    const client = new IdeaBoard({ baseUrl: gateway.url, token, cache: true });
    const first = await client.ideas.get(ideaId).withResponse();
    const second = await client.ideas.get(ideaId).withResponse();
    expect([first.status, second.status]).toEqual([200, 304]);
    expect(second.data).toEqual(first.data);
    expect(second.rateLimit?.remaining).toBe(first.rateLimit?.remaining);
    // A change of the returned object must not change the cached response.
    second.data.title = 'Changed here';
    expect((await client.ideas.get(ideaId)).title).toBe(first.data.title);

    await client.ideas.vote(ideaId, { value: 'up' });
    expect(await client.ideas.get(ideaId).withResponse()).toMatchObject({ status: 200, data: { score: 1 } });
    expect(await client.ideas.get(ideaId).withResponse()).toMatchObject({ status: 304, data: { score: 1 } });
    // The client caches no responses to writes. The client has also not yet cached a response for the URL of the board,
    // which it requests next.
    await client.board.get();
    expect(sentTags()).toEqual([
      undefined,
      ...Array(2).fill(first.etag),
      undefined,
      first.etag,
      expect.any(String),
      undefined,
    ]);
  });

  test('if a client with a cache iterates over a list again, the client takes the unchanged pages of the list from the cache', async () => {
    await insertIdea(server, world);
    const client = new IdeaBoard({ baseUrl: gateway.url, token, cache: true });
    const list = client.ideas.list({ per_page: 1 });
    const ids = (await list.toArray({ limit: 9 })).map(({ id }) => id);
    expect(ids).toHaveLength(2);
    expect((await list.toArray({ limit: 9 })).map(({ id }) => id)).toEqual(ids);
    expect(sentTags().map(tag => tag !== undefined)).toEqual([false, false, true, true]);
  });

  test('if clients with different tokens share a cache, each token gets only its own responses from the cache', async () => {
    const cache = new MemoryCache();
    const other = await issueToken(server, world, 'write');
    const [one, two] = [token, other.token].map(each => new IdeaBoard({ baseUrl: gateway.url, token: each, cache }));
    await one?.ideas.vote(ideaId, { value: 'up' });
    expect(await one?.ideas.get(ideaId)).toMatchObject({ my_vote: 'up' });
    expect(await two?.ideas.get(ideaId)).toMatchObject({ my_vote: 'none' });
    expect(await one?.ideas.get(ideaId).withResponse()).toMatchObject({ status: 304, data: { my_vote: 'up' } });
  });

  test('a custom cache of the client stores responses as JSON under keys without the secret part of the token', async () => {
    const store = new Map<string, string>();
    const cache = {
      get: async (key: string) => JSON.parse(store.get(key) ?? 'null') as CachedResponse | null,
      set: async (key: string, response: CachedResponse) => void store.set(key, JSON.stringify(response)),
    };
    const read = () => new IdeaBoard({ baseUrl: gateway.url, token, cache }).board.get().withResponse();
    expect((await read()).status).toBe(200);
    expect(await read()).toMatchObject({ status: 304, data: { board: { slug: world.boardSlug } } });
    expect([...store.keys()]).toEqual([`${gateway.url}/api/v1/board ${token.split('_', 2).join('_')}`]);
  });

  test("if the client's cache fails, reads still succeed, and the client logs the error of the cache", async () => {
    const fail = () => {
      throw new Error('The store is down');
    };
    const messages: string[] = [];
    const error = (message: string) => messages.push(message);
    const client = new IdeaBoard({
      baseUrl: gateway.url,
      token,
      cache: { get: fail, set: async () => fail() },
      logLevel: 'error',
      logger: { error, warn: error, info: error, debug: error },
    });
    expect((await client.board.get()).board.slug).toBe(world.boardSlug);
    const failure = '[idea-board] The cache failed: Error: The store is down';
    expect(messages).toEqual([failure, failure]);
  });

  test("if the client's cache never answers, a read fails with the error `timed_out` after its timeout", async () => {
    const cache = { get: () => new Promise<never>(() => {}), set() {} };
    const client = new IdeaBoard({ baseUrl: gateway.url, token, cache, timeoutMs: 20, maxRetries: 0 });
    await expect(client.board.get()).rejects.toMatchObject({ key: 'timed_out' });
  });

  test('a full memory cache of the client removes the least recently used responses', () => {
    const cache = new MemoryCache({ maxCharacters: 30 });
    const response = { etag: '"1"', body: '123456' };
    for (const key of ['a', 'b', 'c']) cache.set(key, response);
    cache.get('a');
    cache.set('d', response);
    expect(['a', 'b', 'c', 'd'].map(key => cache.get(key) !== undefined)).toEqual([true, false, true, true]);
    // A response that is longer than the whole cache leaves the cache empty.
    cache.set('e', { etag: '"2"', body: 'x'.repeat(40) });
    expect(['a', 'c', 'd', 'e'].map(key => cache.get(key))).toEqual([undefined, undefined, undefined, undefined]);
  });
});
