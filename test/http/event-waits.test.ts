import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer, startServerForTest, type TestServer } from '../helpers/server.ts';
import { callTool } from '../mcp/call-tool.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

interface Scene {
  world: World;
  token: string;
  tokenId: number;
  /** A cursor that points after all existing events of the board. */
  now: string;
}

async function createScene(grant: 'read' | 'moderate' = 'moderate'): Promise<Scene> {
  const world = await createWorld(server);
  const { token, id } = await issueToken(server, world, grant);
  const { body } = await request(server, 'GET /api/v1/events?after=now', { token });
  return { world, token, tokenId: id, now: body.next_cursor };
}

const wait = ({ token, now }: Pick<Scene, 'token' | 'now'>, seconds = 55, on = server, query = '') =>
  request(on, `GET /api/v1/events?after=${now}&wait=${seconds}${query}`, { token });

const create = ({ token }: Pick<Scene, 'token'>, title = 'An idea') =>
  request(server, 'POST /api/v1/ideas', { token, json: { title, body: 'A body' } });

const titlesOf = (page: { data: { event: { data: { idea: { title: string } } } }[] }) =>
  page.data.map(({ event }) => event.data.idea.title);

const slotsOf = async ({ tokenId }: Pick<Scene, 'tokenId'>) =>
  (await server.sql('select slot from event_waits where token_id = $1 order by slot', [tokenId])).map(one => one.slot);

/** Resolves when exactly `count` requests of the token wait for events. */
const awaitSlots = (scene: Scene, count: number) => expect.poll(() => slotsOf(scene)).toHaveLength(count);

const listeners = () =>
  server.sql<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'idea-board listener'`,
  );

describe('a request that waits for events', () => {
  test('a request that waits for events is answered as soon as an event of its board is committed', async () => {
    const scene = await createScene();
    const waiting = wait(scene);
    await awaitSlots(scene, 1);
    const startedAt = performance.now();
    await create(scene, 'Awaited');
    const { status, body } = await waiting;
    expect([status, titlesOf(body)]).toEqual([200, ['Awaited']]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await slotsOf(scene)).toEqual([]);
  });

  test('a request that waits for events gets an empty page with a cursor if no event occurs within the requested waiting time', async () => {
    const scene = await createScene();
    const startedAt = performance.now();
    const { status, body } = await wait(scene, 1);
    expect([status, body]).toEqual([200, { data: [], has_more: false, next_cursor: scene.now }]);
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    expect(await slotsOf(scene)).toEqual([]);
  });

  test('a request for events with the parameter `wait` is answered immediately if matching events exist before the request', async () => {
    const scene = await createScene();
    await create(scene, 'Already there');
    await awaitSlots(scene, 0);
    expect(titlesOf((await wait(scene)).body)).toEqual(['Already there']);
  });

  test('a request that waits for events of some types on a board keeps waiting after events of other types or on other boards', async () => {
    const scene = await createScene();
    const other = await createScene();
    const waiting = wait(scene, 55, server, '&types=comment.created');
    await awaitSlots(scene, 1);
    await create(other, 'Elsewhere');
    const { body: idea } = await create(scene, 'Of another type');
    const comment = { body: 'The awaited type' };
    await request(server, `POST /api/v1/ideas/${idea.id}/comments`, { token: scene.token, json: comment });
    const { body } = await waiting;
    expect(body.data.map((one: { event: { type: string } }) => one.event.type)).toEqual(['comment.created']);
  });

  test("a request that waits for events counts only once against the token's read limit, even if many events occur during the wait", async () => {
    const limited = await startServerForTest({ on: server, environment: { RATE_LIMIT_READ: '3' } });
    const scene = await createScene();
    await server.sql(`delete from rate_limits where key = $1`, [`apitoken:read:${scene.tokenId}`]);
    const waiting = wait(scene, 55, limited, '&types=comment.created');
    await awaitSlots(scene, 1);
    const { body: idea } = await create(scene);
    for (const value of ['up', 'down', 'up', 'none']) {
      await request(server, `POST /api/v1/ideas/${idea.id}/vote`, { token: scene.token, json: { value } });
    }
    await request(server, `POST /api/v1/ideas/${idea.id}/comments`, { token: scene.token, json: { body: 'Done' } });
    expect((await waiting).headers.get('x-ratelimit-remaining')).toBe('2');
    const [counter] = await server.sql('select count from rate_limits where key = $1', [
      `apitoken:read:${scene.tokenId}`,
    ]);
    expect(counter).toEqual({ count: 1 });
  });

  test('a request that waits for events returns an event that a transaction recorded before the wait and committed during the wait', async () => {
    const scene = await createScene();
    const ideaId = await insertIdea(server, scene.world, { title: 'Committed late' });
    const slow = await connect(server.url);
    await slow.query('begin');
    await slow.query(
      `select record_event($1::bigint, 'idea.created', $2::bigint, null, $3::bigint, null, '{}'::jsonb, now())`,
      [scene.world.accountId, ideaId, scene.world.ownerId],
    );
    const waiting = wait(scene);
    await awaitSlots(scene, 1);
    // Gives the server time to read the existing events and to start waiting for a new event.
    await delay(300);
    await slow.query('commit');
    await slow.end();
    expect(titlesOf((await waiting).body)).toEqual(['Committed late']);
  });

  test('PostgreSQL sends a notification of a new event only if a request waits for events of the same board', async () => {
    const scene = await createScene();
    const listener = await connect(server.url);
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.query('listen idea_board_events');
    await create(scene, 'Nobody waits');
    const { body } = await request(server, 'GET /api/v1/events?after=now', { token: scene.token });
    const waiting = wait({ ...scene, now: body.next_cursor });
    await awaitSlots(scene, 1);
    await create(scene, 'Somebody waits');
    await waiting;
    await expect.poll(() => heard).toEqual([String(scene.world.boardId)]);
    await listener.end();
  });

  test('all requests that wait for events on one server share one database connection', async () => {
    const scenes = await Promise.all(Array.from({ length: 12 }, () => createScene()));
    const waiting = scenes.flatMap(scene => [wait(scene), wait(scene)]);
    for (const scene of scenes) await awaitSlots(scene, 2);
    expect(await listeners()).toHaveLength(1);
    // The connection pool has 8 connections, and more requests than that are waiting. If each waiting request held a
    // connection, this request would hang.
    const { status } = await request(server, 'GET /api/v1/board', { token: scenes[0]?.token });
    expect(status).toBe(200);
    for (const scene of scenes) await create(scene, 'For two');
    for (const { body } of await Promise.all(waiting)) expect(titlesOf(body)).toEqual(['For two']);
  });
});

describe('the slots of a token for waiting requests', () => {
  test('if one token sends six parallel requests that wait for events to two servers, two requests wait and four get 429 too_many_waits', async () => {
    const second = await startServerForTest({ on: server });
    const scene = await createScene();
    const answers = Promise.all([server, second, server, second, server, second].map(on => wait(scene, 55, on)));
    await awaitSlots(scene, 2);
    // Gives the server time to answer the four refused requests before the new event ends the waiting requests.
    await delay(500);
    await create(scene, 'For those who wait');
    const refused = (await answers).filter(({ status }) => status === 429);
    expect((await answers).filter(({ status }) => status === 200)).toHaveLength(2);
    expect(refused.map(({ key, headers }) => [key, headers.get('retry-after')])).toEqual(
      Array(4).fill(['too_many_waits', '5']),
    );
    expect(await slotsOf(scene)).toEqual([]);
  });

  test("while a token has its maximum of requests that wait for events, other tokens' requests can wait, and its requests without a wait succeed", async () => {
    const scene = await createScene();
    const waiting = [wait(scene), wait(scene)];
    await awaitSlots(scene, 2);
    const other = await issueToken(server, scene.world, 'read');
    expect((await wait({ ...scene, token: other.token }, 1)).status).toBe(200);
    expect((await wait(scene, 0)).status).toBe(200);
    await create(scene);
    await Promise.all(waiting);
  });

  test('if a client disconnects while it waits for events, another request of the same token can wait', async () => {
    const scene = await createScene();
    const leaving = new AbortController();
    const lost = fetch(`${server.baseUrl}/api/v1/events?after=${scene.now}&wait=55`, {
      headers: { authorization: `Bearer ${scene.token}` },
      signal: leaving.signal,
    });
    await awaitSlots(scene, 1);
    leaving.abort();
    await expect(lost).rejects.toThrow();
    await awaitSlots(scene, 0);
  });

  test("if a server is killed, its requests that waited for events soon stop counting against the token's limit, unlike waiting requests of other servers", async () => {
    const scene = await createScene();
    const waiting = wait(scene);
    await awaitSlots(scene, 1);
    // Inserts the row of a waiting request whose server was killed. So no server renews this row.
    await server.sql(
      `insert into event_waits (account_id, token_id, slot, board_id, server_id, expires_at)
      select account_id, token_id, 2, board_id, gen_random_uuid(), now() + interval '4 seconds' from event_waits
      where token_id = $1`,
      [scene.tokenId],
    );
    expect((await wait(scene, 1)).key).toBe('too_many_waits');
    await server.sql('update event_waits set expires_at = now() where token_id = $1 and slot = 2', [scene.tokenId]);
    expect((await wait(scene, 1)).status).toBe(200);
    const lease = () =>
      server.sql<{ expires_at: string }>('select expires_at from event_waits where token_id = $1', [scene.tokenId]);
    const [first] = await lease();
    await expect.poll(async () => (await lease())[0]?.expires_at !== first?.expires_at).toBe(true);
    await create(scene);
    await waiting;
  });
});

describe('access that ends during a wait', () => {
  test.each<[string, string, number, string]>([
    ['the token is revoked', 'update api_tokens set revoked_at = now() where id = $1', 401, 'unauthorized'],
    [
      'the token expires',
      `update api_tokens set expires_at = now() - interval '1 s' where id = $1`,
      401,
      'unauthorized',
    ],
    [
      'the token loses its grant on the board',
      'delete from api_token_boards where token_id = $1',
      403,
      'board_not_granted',
    ],
    [
      'the erasure of the account begins',
      `update accounts set deletion_scheduled_at = now(), erasure_began_at = now()
      where id = (select account_id from api_tokens where id = $1)`,
      401,
      'unauthorized',
    ],
  ])(
    'if %s while a request waits for events, the request gets an error and no event',
    async (_, statement, status, key) => {
      const scene = await createScene();
      const writer = await issueToken(server, scene.world, 'moderate');
      const waiting = wait(scene);
      await awaitSlots(scene, 1);
      await server.sql(statement, [scene.tokenId]);
      const ideaId = await insertIdea(server, scene.world);
      await server.sql(
        `select record_event($1::bigint, 'idea.created', $2::bigint, null, $3::bigint, $4::bigint, '{}'::jsonb, now())`,
        [scene.world.accountId, ideaId, scene.world.ownerId, writer.id],
      );
      const answer = await waiting;
      expect([answer.status, answer.key]).toEqual([status, key]);
      expect(await slotsOf(scene)).toEqual([]);
    },
  );

  test('if the issuer of a token stops being a moderator while a request waits for events, the request gets no event of a pending idea', async () => {
    const scene = await createScene();
    const { accountId, ownerId } = scene.world;
    const pending = await insertIdea(server, scene.world, { title: 'Pending', moderationState: 'pending' });
    const published = await insertIdea(server, scene.world, { title: 'Published' });
    const waiting = wait(scene);
    await awaitSlots(scene, 1);
    const record = (ideaId: number) =>
      server.sql(
        `select record_event($1::bigint, 'idea.created', $2::bigint, null, $3::bigint, null, '{}'::jsonb, now())`,
        [accountId, ideaId, ownerId],
      );
    await server.sql(`update memberships set role = 'member' where account_id = $1`, [accountId]);
    await record(pending);
    await delay(500);
    await record(published);
    expect(titlesOf((await waiting).body)).toEqual(['Published']);
  });

  test('a tool call that waits for events returns the next event, and gets 401 if the token is revoked during the wait', async () => {
    const scene = await createScene();
    const call = () =>
      callTool(server, { token: scene.token, name: 'list_events', args: { after: scene.now, wait: 55 } });
    const waiting = call();
    await awaitSlots(scene, 1);
    await create(scene, 'For a tool');
    expect(titlesOf((await waiting).body.result.structuredContent)).toEqual(['For a tool']);
    const { body } = await request(server, 'GET /api/v1/events?after=now', { token: scene.token });
    scene.now = body.next_cursor;
    const revoked = call();
    await awaitSlots(scene, 1);
    await server.sql('update api_tokens set revoked_at = now() where id = $1', [scene.tokenId]);
    const ideaId = await insertIdea(server, scene.world);
    await server.sql(
      `select record_event($1::bigint, 'idea.created', $2::bigint, null, $3::bigint, null, '{}'::jsonb, now())`,
      [scene.world.accountId, ideaId, scene.world.ownerId],
    );
    const answer = await revoked;
    expect([answer.status, answer.body.error.key]).toEqual([401, 'unauthorized']);
  });
});

describe('interruptions of waits', () => {
  test('a stopping server immediately answers the requests that wait for events with an empty page', async () => {
    const scene = await createScene();
    const stopping = await startServer({ on: server });
    const waiting = wait(scene, 55, stopping);
    await awaitSlots(scene, 1);
    const startedAt = performance.now();
    const closed = stopping.close();
    const { status, body } = await waiting;
    expect([status, body.data]).toEqual([200, []]);
    await closed;
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await slotsOf(scene)).toEqual([]);
  });

  test('if the database connection for event notifications is lost, requests that wait for events get an empty page, and later requests use a new connection', async () => {
    const scene = await createScene();
    const waiting = wait(scene);
    await awaitSlots(scene, 1);
    const [before] = await listeners();
    await server.sql('select pg_terminate_backend($1)', [before?.pid]);
    const { status, body } = await waiting;
    expect([status, body.data]).toEqual([200, []]);
    const again = wait(scene);
    await awaitSlots(scene, 1);
    const after = await listeners();
    expect(after).toHaveLength(1);
    expect(after[0]?.pid).not.toBe(before?.pid);
    await create(scene, 'Heard again');
    expect(titlesOf((await again).body)).toEqual(['Heard again']);
  });
});
