import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Grant, grants, includesGrant } from '../../contract/grants.ts';
import { operations as contract } from '../../contract/index.ts';
import type { RouteMetadata } from '../../contract/routes.ts';
import { testClock } from '../helpers/clock.ts';
import {
  createAccount,
  createBoard,
  createMember,
  createWorld,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { type ArrangedRequest, createTargets, operations, requestOf } from '../helpers/operations.ts';
import { type Answer, type RequestOptions, request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';

const clock = testClock('2026-03-14T09:00:00.000Z');

let server: TestServer;
let world: World;

beforeAll(async () => {
  server = await startServer({ clock, environment: { PLANS_WITHOUT_AGENT_API: 'starter, trial' } });
  world = await createWorld(server);
});
afterAll(() => server.close());

type OperationId = keyof typeof contract;

const operationIds = Object.keys(contract) as OperationId[];
const metadataOf = (id: OperationId) => contract[id].metadata as RouteMetadata;
const authenticated = operationIds.filter(id => metadataOf(id).auth !== 'none');
const onBoard = operationIds.filter(id => metadataOf(id).auth === 'board');

const send = ({ line, json }: ArrangedRequest, options: RequestOptions = {}) =>
  request(server, line, { ...(json === undefined ? {} : { json }), ...options });

/** The line with a query parameter more. */
const withQuery = (sample: ArrangedRequest, query: string) => ({
  ...sample,
  line: `${sample.line}${sample.line.includes('?') ? '&' : '?'}${query}`,
});

/** A valid request for each operation, on ideas of their own, so that one never stands in the way of another. */
async function samples(on: World = world) {
  const targets = await createTargets(server, on);
  const requests = operations.map(operation => [operation.id, requestOf(operation, targets)]);
  return Object.fromEntries(requests) as Record<OperationId, ArrangedRequest>;
}

const countIdeas = async () => (await server.sql<{ n: number }>('select count(*) as n from ideas'))[0]?.n;

describe('a request without a valid token', () => {
  let known: { token: string; id: number };
  let secret: string;

  beforeAll(async () => {
    known = await issueToken(server, world, 'moderate');
    secret = known.token.slice(`ib_${known.id}_`.length);
  });

  const otherSecret = randomBytes(32).toString('base64url');

  const invalid: [string, () => string | undefined][] = [
    ['no Authorization header', () => undefined],
    ['an empty one', () => ''],
    ['a scheme alone', () => 'Bearer'],
    ['a scheme and a space', () => 'Bearer '],
    ['another scheme', () => `Basic ${Buffer.from(`token:${known.token}`).toString('base64')}`],
    ['another scheme with the token', () => `Token ${known.token}`],
    ['the token without a scheme', () => known.token],
    ['something after the token', () => `Bearer ${known.token} more`],
    ['the token twice', () => `Bearer ${known.token}, Bearer ${known.token}`],
    ['a token of another form', () => 'Bearer sk_live_123'],
    ['a token without its secret', () => `Bearer ib_${known.id}`],
    ['a secret that is too short', () => `Bearer ib_${known.id}_${secret.slice(1)}`],
    ['a secret that is too long', () => `Bearer ib_${known.id}_${secret}A`],
    ['another secret', () => `Bearer ib_${known.id}_${otherSecret}`],
    ['a secret in another case', () => `Bearer ib_${known.id}_${swapCase(secret)}`],
    ['an unknown id', () => `Bearer ib_999999999_${secret}`],
    ['an id with a leading zero', () => `Bearer ib_0${known.id}_${secret}`],
    ['an id larger than any', () => `Bearer ib_9999999999999999_${secret}`],
    ['a negative id', () => `Bearer ib_-1_${secret}`],
    ['SQL in the id', () => `Bearer ib_1' or '1'='1_${secret}`],
  ];

  test.each(invalid)('%s: answers 401', async (_, authorization) => {
    const value = authorization();
    const headers = value === undefined ? {} : { authorization: value };
    expectUnauthorized(await request(server, 'GET /api/v1/board', { headers }));
  });

  test('is answered the same whatever is wrong with the token, so that nothing can be learnt from it', async () => {
    const bodies = new Set<string>();
    for (const [, authorization] of invalid) {
      const value = authorization();
      const { text } = await request(server, 'GET /api/v1/board', {
        headers: value === undefined ? {} : { authorization: value },
      });
      bodies.add(text);
    }
    const revoked = await issueToken(server, world, 'read');
    await server.sql('update api_tokens set revoked_at = $2 where id = $1', [revoked.id, clock.now()]);
    bodies.add((await request(server, 'GET /api/v1/board', { token: revoked.token })).text);
    expect([...bodies]).toHaveLength(1);
  });

  test.each(authenticated)('reaches nothing of %s, and is told so before its body is looked at', async id => {
    const sample = (await samples())[id];
    const before = await countIdeas();
    expectUnauthorized(await request(server, sample.line, { raw: null }));
    if (sample.line.startsWith('POST')) {
      expectUnauthorized(await request(server, sample.line, { raw: '{', headers: { 'content-type': 'text/plain' } }));
    }
    expect(await countIdeas()).toBe(before);
  });

  test('is not helped by a token in the query, in the body or in a cookie', async () => {
    for (const name of ['token', 'access_token', 'authorization', 'api_key']) {
      expectUnauthorized(await request(server, `GET /api/v1/board?${name}=${known.token}`));
    }
    expectUnauthorized(await request(server, 'GET /api/v1/board', { headers: { cookie: `token=${known.token}` } }));
    const json = { title: 'A', body: 'B', token: known.token };
    expectUnauthorized(await request(server, 'POST /api/v1/ideas', { json }));
  });

  test('is not helped by a valid one that it carries beside it', async () => {
    const headers = { authorization: `Bearer ib_${known.id}_${otherSecret}`, 'x-api-key': known.token };
    expectUnauthorized(await request(server, 'GET /api/v1/board', { headers }));
  });

  test('of a revoked token answers 401 from the very next request', async () => {
    const { token, id } = await issueToken(server, world, 'read');
    expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
    await server.sql('update api_tokens set revoked_at = $2 where id = $1', [id, clock.now()]);
    expectUnauthorized(await request(server, 'GET /api/v1/board', { token }));
  });

  test('of an expired token answers 401 from the millisecond at which it expires', async () => {
    const start = clock.now();
    const { token } = await issueToken(server, world, 'read', { expiresAt: new Date(Date.now() + 1e9) });
    const expiresAt = new Date(start.getTime() + 60_000);
    await server.sql('update api_tokens set expires_at = $1 where expires_at is not null', [expiresAt]);
    clock.set(new Date(expiresAt.getTime() - 1));
    expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
    clock.set(expiresAt);
    expectUnauthorized(await request(server, 'GET /api/v1/board', { token }));
    clock.set(start);
  });

  test('of an OAuth grant answers 401, for those are for the tools alone', async () => {
    const { token, id } = await issueToken(server, world, 'moderate');
    await server.sql(`update api_tokens set kind = 'oauth' where id = $1`, [id]);
    expectUnauthorized(await request(server, 'GET /api/v1/board', { token }));
  });

  test('with a known id and a wrong secret charges nothing to that token, and does not count as its use', async () => {
    const { token, id } = await issueToken(server, world, 'write');
    const wrong = `ib_${id}_${otherSecret}`;
    const sample = await samples();
    for (let n = 0; n < 3; n++) {
      expectUnauthorized(await send(sample.getBoard, { token: wrong }));
      expectUnauthorized(await send(sample.voteIdea, { token: wrong }));
    }
    expect(await server.sql('select key from rate_limits where key like $1', [`apitoken:%:${id}`])).toEqual([]);
    const lastUse = () => server.sql('select last_used_at from api_tokens where id = $1', [id]);
    expect(await lastUse()).toEqual([{ last_used_at: null }]);
    const answer = await send(sample.getBoard, { token });
    expect(answer.headers.get('x-ratelimit-remaining')).toBe(String(server.config.RATE_LIMIT_READ - 1));
  });

  test('is one whose header is well-formed and means what others do, so these are valid', async () => {
    for (const authorization of [`bearer ${known.token}`, `BEARER   ${known.token}`]) {
      expect((await request(server, 'GET /api/v1/board', { headers: { authorization } })).status).toBe(200);
    }
  });
});

function expectUnauthorized(answer: Answer) {
  expect(answer).toMatchObject({ status: 401, key: 'unauthorized' });
  expect(Object.keys(answer.body.error).sort()).toEqual(['key', 'message']);
  expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
}

const swapCase = (text: string) =>
  [...text].map(c => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('');

describe('the board of a request', () => {
  let second: { id: number; slug: string };
  let ungranted: { id: number; slug: string };
  let stranger: World;
  let one: string;
  let two: string;

  beforeAll(async () => {
    second = await createBoard(server, world.accountId);
    ungranted = await createBoard(server, world.accountId);
    stranger = await createWorld(server);
    one = (await issueToken(server, world, 'moderate')).token;
    two = (await issueToken(server, world, { [world.boardId]: 'read', [second.id]: 'write' })).token;
  });

  const board = (token: string, query = '') => request(server, `GET /api/v1/board${query}`, { token });

  test('is the one of a token that grants one, named or not', async () => {
    for (const query of ['', `?board=${world.boardSlug}`]) {
      expect(await board(one, query)).toMatchObject({ status: 200, body: { board: { id: world.boardId } } });
    }
  });

  test('must be named by a token that grants more than one, on every operation', async () => {
    const sample = await samples();
    for (const id of onBoard)
      expect([id, (await send(sample[id], { token: two })).key]).toEqual([id, 'board_required']);
    expect(await board(two)).toMatchObject({ status: 400 });
  });

  test('is the one that such a token names', async () => {
    for (const { id, slug } of [second, { id: world.boardId, slug: world.boardSlug }]) {
      expect(await board(two, `?board=${slug}`)).toMatchObject({ status: 200, body: { board: { id, slug } } });
    }
  });

  test('answers 403 when it is not granted, whether it exists or not, and to whom it belongs', async () => {
    for (const slug of [ungranted.slug, stranger.boardSlug, 'no-such-board', '', '%00', 'A'.repeat(5000)]) {
      for (const token of [one, two]) {
        const answer = await board(token, `?board=${slug}`);
        expect([slug, answer.status, answer.key]).toEqual([slug, 403, 'board_not_granted']);
      }
    }
    expect(await board(two, `?board=${second.slug.toUpperCase()}`)).toMatchObject({ key: 'board_not_granted' });
  });

  test('is named once: twice is no request that could be answered', async () => {
    for (const token of [one, two]) {
      const answer = await board(token, `?board=${world.boardSlug}&board=${second.slug}`);
      expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
      expect(answer.body.error.issues).toMatchObject([{ path: ['query', 'board'] }]);
    }
  });

  test('is always one of the account, also where another account has the same slug', async () => {
    const twin = await createWorld(server, { slug: world.boardSlug });
    const { token } = await issueToken(server, twin, 'read');
    expect(await board(token, `?board=${world.boardSlug}`)).toMatchObject({ body: { board: { id: twin.boardId } } });
    expect(await board(one, `?board=${world.boardSlug}`)).toMatchObject({ body: { board: { id: world.boardId } } });
  });

  test('keeps ideas of every other board out of reach, reading and writing', async () => {
    const elsewhere = await samples({ ...world, boardId: ungranted.id, boardSlug: ungranted.slug });
    const abroad = await samples(stranger);
    const ofIdeas = onBoard.filter(id => contract[id].path.includes(':id'));
    expect(ofIdeas.length).toBeGreaterThan(8);
    for (const sample of [elsewhere, abroad]) {
      for (const id of ofIdeas) {
        const { status, key } = await send(sample[id], { token: one });
        expect([id, status, key]).toEqual([id, 404, 'not_found']);
      }
    }
    expect(await server.sql('select from votes')).toEqual([]);
  });

  test('has the level that the token has on it, and not on another', async () => {
    const there = await samples({ ...world, boardId: second.id, boardSlug: second.slug });
    const here = await samples();
    const vote = (sample: ArrangedRequest, slug: string) => send(withQuery(sample, `board=${slug}`), { token: two });
    expect(await vote(here.voteIdea, world.boardSlug)).toMatchObject({ status: 403, key: 'insufficient_scope' });
    expect(await vote(there.voteIdea, second.slug)).toMatchObject({ status: 200 });
    // Naming the board at which it may write does not reach the ideas of the other.
    expect(await vote(here.voteIdea, second.slug)).toMatchObject({ status: 404 });
  });

  test('is none when the only one of a token was removed', async () => {
    const gone = await createBoard(server, world.accountId);
    const { token } = await issueToken(server, world, { [gone.id]: 'read' });
    expect((await board(token)).status).toBe(200);
    await server.sql('delete from boards where id = $1', [gone.id]);
    expect(await board(token)).toMatchObject({ status: 403, key: 'board_not_granted' });
    expect(await request(server, 'GET /api/v1/token', { token })).toMatchObject({ status: 200, body: { boards: [] } });
  });

  test('is of no matter to the token itself', async () => {
    expect(await request(server, 'GET /api/v1/token', { token: two })).toMatchObject({ status: 200 });
  });
});

describe('the grants table', () => {
  const cases = onBoard.flatMap(id => grants.map(held => ({ id, held, ...(metadataOf(id) as { grant: Grant }) })));

  test.each(cases)('$id needs $grant, with $held', async ({ id, held, grant }) => {
    const { token } = await issueToken(server, world, held);
    const sample = (await samples())[id];
    const before = await countIdeas();
    const answer = await send(sample, { token });
    if (includesGrant(held, grant)) {
      expect([200, 201]).toContain(answer.status);
      expect(answer.body).not.toHaveProperty('error');
    } else {
      expect(answer).toMatchObject({ status: 403, key: 'insufficient_scope' });
      expect(await countIdeas()).toBe(before);
    }
  });

  test.each(grants)('the token itself needs none, with %s', async held => {
    const { token } = await issueToken(server, world, held);
    expect((await request(server, 'GET /api/v1/token', { token })).status).toBe(200);
  });

  test.each(grants)('the approval queue needs moderate, with %s, though the list needs read', async held => {
    const { token } = await issueToken(server, world, held);
    const answer = await request(server, 'GET /api/v1/ideas?moderation_state=pending', { token });
    if (held === 'moderate') expect(answer.status).toBe(200);
    else expect(answer).toMatchObject({ status: 403, key: 'insufficient_scope' });
  });

  test('has every operation that is not open, so that a new one is not forgotten', () => {
    expect(authenticated).toEqual(expect.arrayContaining(onBoard));
    expect(authenticated.filter(id => !onBoard.includes(id))).toEqual(['getToken']);
  });

  test('a grant that is lowered or taken away counts from the very next request', async () => {
    const { token, id } = await issueToken(server, world, 'write');
    const { voteIdea, getBoard } = await samples();
    expect((await send(voteIdea, { token })).status).toBe(200);
    await server.sql(`update api_token_boards set level = 'read' where token_id = $1`, [id]);
    expect(await send(voteIdea, { token })).toMatchObject({ status: 403, key: 'insufficient_scope' });
    await server.sql('delete from api_token_boards where token_id = $1', [id]);
    expect(await send(getBoard, { token })).toMatchObject({ status: 403, key: 'board_not_granted' });
  });
});

describe('the plan of the account', () => {
  test.each(authenticated)('without the Agent API answers 403 to %s', async id => {
    const starter = await createWorld(server);
    const { token } = await issueToken(server, starter, 'moderate');
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [starter.accountId]);
    const answer = await send((await samples(starter))[id], { token });
    expect(answer).toMatchObject({ status: 403, key: 'agent_api_unavailable' });
    // What was paid for is what the request was charged, plan or not.
    expect(answer.headers.get('x-ratelimit-limit')).not.toBeNull();
  });

  test('counts from the very next request, both ways', async () => {
    const changing = await createWorld(server);
    const { token } = await issueToken(server, changing, 'read');
    for (const [plan, status] of [
      ['community', 200],
      ['trial', 403],
      ['business', 200],
      ['starter', 403],
      ['community', 200],
    ] as const) {
      await server.sql('update accounts set plan = $2 where id = $1', [changing.accountId, plan]);
      expect([plan, (await request(server, 'GET /api/v1/board', { token })).status]).toEqual([plan, status]);
    }
  });

  test('of one account says nothing of another', async () => {
    const { accountId } = await createAccount(server, 'starter');
    expect(accountId).not.toBe(world.accountId);
    const { token } = await issueToken(server, world, 'read');
    expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
  });
});

describe('the issuer', () => {
  let own: World;
  let issuerId: number;
  let token: string;
  let pendingId: number;

  beforeAll(async () => {
    own = await createWorld(server, { preModeration: true });
    issuerId = await createMember(server, own.accountId, 'admin');
    ({ token } = await issueToken(server, own, 'moderate', { issuerId }));
    pendingId = await insertIdea(server, own, { moderationState: 'pending', title: 'Awaiting approval' });
  });

  const setRole = (role: string | null) =>
    role === null
      ? server.sql('delete from memberships where user_id = $1', [issuerId])
      : server.sql(
          `insert into memberships (account_id, user_id, role) values ($1, $2, $3)
          on conflict (account_id, user_id) do update set role = excluded.role`,
          [own.accountId, issuerId, role],
        );

  const moderating = onBoard.filter(id => (metadataOf(id) as { grant: Grant }).grant === 'moderate');

  test.each(['moderator', 'admin', 'owner'])(
    'is a moderator in the role of %s, and the grant has effect',
    async role => {
      await setRole(role);
      const sample = await samples(own);
      for (const id of moderating) expect([id, (await send(sample[id], { token })).status]).toEqual([id, 200]);
      expect(await request(server, `GET /api/v1/ideas/${pendingId}`, { token })).toMatchObject({ status: 200 });
      const queue = await request(server, 'GET /api/v1/ideas?moderation_state=pending', { token });
      expect(queue).toMatchObject({ status: 200 });
      expect(queue.body.data).toMatchObject([{ id: pendingId }]);
      const created = await send(sample.createIdea, { token });
      expect(created).toMatchObject({ status: 201, body: { moderation_state: 'published' } });
      const self = await request(server, 'GET /api/v1/token', { token });
      expect(self.body.boards).toMatchObject([{ grant: 'moderate', is_moderate_effective: true }]);
    },
  );

  test.each(['member', null])(
    'is none as %s: from the very next request moderator actions answer 403, and the rest is as without the grant',
    async role => {
      await setRole('moderator');
      const sample = await samples(own);
      expect((await send(sample.setIdeaStatus, { token })).status).toBe(200);
      await setRole(role);
      for (const id of moderating) {
        const { status, key } = await send(sample[id], { token });
        expect([id, status, key]).toEqual([id, 403, 'token_issuer_not_moderator']);
      }
      const queue = await request(server, 'GET /api/v1/ideas?moderation_state=pending', { token });
      expect(queue).toMatchObject({ status: 403, key: 'token_issuer_not_moderator' });
      for (const line of [`GET /api/v1/ideas/${pendingId}`, `GET /api/v1/ideas/${pendingId}/comments`]) {
        expect(await request(server, line, { token })).toMatchObject({ status: 404, key: 'not_found' });
      }
      expect(await send(sample.getIdea, { token })).toMatchObject({ status: 200 });
      const created = await send(sample.createIdea, { token });
      expect(created).toMatchObject({ status: 201, body: { moderation_state: 'pending' } });
      expect(await request(server, `GET /api/v1/ideas/${created.body.id}`, { token })).toMatchObject({ status: 404 });
      await server.sql('delete from ideas where id = $1', [created.body.id]);
      const self = await request(server, 'GET /api/v1/token', { token });
      expect(self.body.boards).toMatchObject([{ grant: 'moderate', is_moderate_effective: false }]);

      await setRole('moderator');
      expect((await send(sample.addIdeaTag, { token })).status).toBe(200);
      expect((await request(server, `GET /api/v1/ideas/${pendingId}`, { token })).status).toBe(200);
    },
  );

  test('who is a moderator gives a write token nothing of it', async () => {
    await setRole('owner');
    const write = (await issueToken(server, own, 'write', { issuerId })).token;
    const sample = await samples(own);
    for (const id of moderating) {
      expect([id, (await send(sample[id], { token: write })).key]).toEqual([id, 'insufficient_scope']);
    }
    expect(await request(server, `GET /api/v1/ideas/${pendingId}`, { token: write })).toMatchObject({ status: 404 });
    const created = await send(sample.createIdea, { token: write });
    expect(created).toMatchObject({ status: 201, body: { moderation_state: 'pending' } });
    await server.sql('delete from ideas where id = $1', [created.body.id]);
  });

  test('who is a moderator of another account is none of this one', async () => {
    await setRole(null);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
      world.accountId,
      issuerId,
    ]);
    const { setIdeaStatus } = await samples(own);
    expect(await send(setIdeaStatus, { token })).toMatchObject({ key: 'token_issuer_not_moderator' });
    await setRole('moderator');
  });

  test('who is blocked may read and not write, from the very next request until the block ends', async () => {
    await setRole('moderator');
    const sample = await samples(own);
    const writing = onBoard.filter(id => (metadataOf(id) as { bucket: string }).bucket === 'apitoken:write');
    expect(writing).toHaveLength(8);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [own.accountId, issuerId]);
    const before = await countIdeas();
    for (const id of onBoard) {
      const { status, key } = await send(sample[id], { token });
      expect([id, status, key]).toEqual(writing.includes(id) ? [id, 403, 'user_blocked'] : [id, 200, undefined]);
    }
    expect(await countIdeas()).toBe(before);
    expect((await request(server, 'GET /api/v1/token', { token })).status).toBe(200);

    await server.sql('delete from user_blocks where user_id = $1', [issuerId]);
    expect((await send(sample.voteIdea, { token })).status).toBe(200);
  });

  test('who is blocked in another account may write in this one', async () => {
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, issuerId]);
    expect((await send((await samples(own)).voteIdea, { token })).status).toBe(200);
  });
});
