import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Capability, type Grant, grants, includesGrant } from '../../contract/grants.ts';
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
import {
  type ApiOperation,
  type ArrangedRequest,
  createTargets,
  operations,
  requestOf,
  writes,
} from '../helpers/operations.ts';
import { type Answer, type RequestOptions, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const clock = testClock('2026-03-14T09:00:00.000Z');

const server = await startServerForFile({ clock, environment: { PLANS_WITHOUT_AGENT_API: 'starter, trial' } });
const world = await createWorld(server);

type OperationId = keyof typeof contract;

const operationIds = Object.keys(contract) as OperationId[];
const metadataOf = (id: OperationId) => contract[id].metadata as RouteMetadata;
const authenticated = operationIds.filter(id => metadataOf(id).auth !== 'none');
const onBoard = operationIds.filter(id => metadataOf(id).auth === 'board');

const send = ({ line, json }: ArrangedRequest, options: RequestOptions = {}) =>
  request(server, line, { ...(json === undefined ? {} : { json }), ...options });

const withQuery = (sample: ArrangedRequest, query: string) => ({
  ...sample,
  line: `${sample.line}${sample.line.includes('?') ? '&' : '?'}${query}`,
});

/** Creates new ideas and tags, and returns a valid request for each operation on them. */
async function samples(on: World = world) {
  const targets = await createTargets(server, on);
  const requests = operations.map(operation => [operation.id, requestOf(operation, targets)]);
  return Object.fromEntries(requests) as Record<ApiOperation['id'], ArrangedRequest>;
}

const countIdeas = async () => (await server.sql<{ n: number }>('select count(*) as n from ideas'))[0]?.n;

describe('a request without a valid token', () => {
  let known: { token: string; id: number };
  let secret: string;
  /** Valid requests. Without a token, they change nothing, so the tests can share them. */
  let shared: Awaited<ReturnType<typeof samples>>;

  beforeAll(async () => {
    shared = await samples();
    known = await issueToken(server, world, 'moderate');
    secret = known.token.slice(`ib_${known.id}_`.length);
  });

  const otherSecret = randomBytes(32).toString('base64url');

  const invalid: [string, () => string | undefined][] = [
    ['no Authorization header', () => undefined],
    ['an empty Authorization header', () => ''],
    ['only a scheme', () => 'Bearer'],
    ['a scheme and a space', () => 'Bearer '],
    ['the scheme Basic', () => `Basic ${Buffer.from(`token:${known.token}`).toString('base64')}`],
    ['the scheme Token', () => `Token ${known.token}`],
    ['the token without a scheme', () => known.token],
    ['text after the token', () => `Bearer ${known.token} more`],
    ['the token twice', () => `Bearer ${known.token}, Bearer ${known.token}`],
    ['a token of another form', () => 'Bearer sk_live_123'],
    ['a token without its secret', () => `Bearer ib_${known.id}`],
    ['a secret that is too short', () => `Bearer ib_${known.id}_${secret.slice(1)}`],
    ['a secret that is too long', () => `Bearer ib_${known.id}_${secret}A`],
    ['another secret', () => `Bearer ib_${known.id}_${otherSecret}`],
    ['a secret in another case', () => `Bearer ib_${known.id}_${swapCase(secret)}`],
    ['an unknown id', () => `Bearer ib_999999999_${secret}`],
    ['an id with a leading zero', () => `Bearer ib_0${known.id}_${secret}`],
    ['an id that is larger than any token id', () => `Bearer ib_9999999999999999_${secret}`],
    ['a negative id', () => `Bearer ib_-1_${secret}`],
    ['SQL in the id', () => `Bearer ib_1' or '1'='1_${secret}`],
  ];

  test.each(invalid)('a request without a valid Authorization header gets 401: %s', async (_, authorization) => {
    const value = authorization();
    const headers = value === undefined ? {} : { authorization: value };
    expectUnauthorized(await request(server, 'GET /api/v1/board', { headers }));
  });

  test('requests with a missing, an invalid and a revoked token get the same response body, which does not reveal the cause', async () => {
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

  test.each(authenticated)(
    'a request without a token to the operation %s gets 401, even if the request body is malformed',
    async id => {
      const sample = shared[id];
      const before = await countIdeas();
      expectUnauthorized(await request(server, sample.line, { raw: null }));
      if (sample.line.startsWith('POST')) {
        expectUnauthorized(await request(server, sample.line, { raw: '{', headers: { 'content-type': 'text/plain' } }));
      }
      expect(await countIdeas()).toBe(before);
    },
  );

  test('a token in the query string, in the body or in a cookie does not authenticate a request', async () => {
    for (const name of ['token', 'access_token', 'authorization', 'api_key']) {
      expectUnauthorized(await request(server, `GET /api/v1/board?${name}=${known.token}`));
    }
    expectUnauthorized(await request(server, 'GET /api/v1/board', { headers: { cookie: `token=${known.token}` } }));
    const json = { title: 'A', body: 'B', token: known.token };
    expectUnauthorized(await request(server, 'POST /api/v1/ideas', { json }));
  });

  test('a request with an invalid token in Authorization gets 401, even if another header has a valid token', async () => {
    const headers = { authorization: `Bearer ib_${known.id}_${otherSecret}`, 'x-api-key': known.token };
    expectUnauthorized(await request(server, 'GET /api/v1/board', { headers }));
  });

  test('a request with a revoked token gets 401, starting with the first request after the revocation', async () => {
    const { token, id } = await issueToken(server, world, 'read');
    expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
    await server.sql('update api_tokens set revoked_at = $2 where id = $1', [id, clock.now()]);
    expectUnauthorized(await request(server, 'GET /api/v1/board', { token }));
  });

  test('a token is valid until one millisecond before its expiry time, and gets 401 from the expiry time on', async () => {
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

  test('the token of an OAuth grant gets 401 from the REST API, because OAuth tokens are only valid for MCP tools', async () => {
    const { token, id } = await issueToken(server, world, 'moderate');
    await server.sql(`update api_tokens set kind = 'oauth' where id = $1`, [id]);
    expectUnauthorized(await request(server, 'GET /api/v1/board', { token }));
  });

  test("a request with a valid token id and a wrong secret changes neither the token's rate limit counters nor its last use", async () => {
    const { token, id } = await issueToken(server, world, 'write', { isUnused: true });
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

  test('an Authorization header may have "Bearer" in upper or lower case and several spaces before the token', async () => {
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

  test("a request by a token with only one board can include or omit the board's name", async () => {
    for (const query of ['', `?board=${world.boardSlug}`]) {
      expect(await board(one, query)).toMatchObject({ status: 200, body: { board: { id: world.boardId } } });
    }
  });

  test('a request by a token with grants on several boards gets 400 if its operation needs a board and it does not name the board', async () => {
    const sample = await samples();
    for (const id of onBoard)
      expect([id, (await send(sample[id], { token: two })).key]).toEqual([id, 'board_required']);
    expect(await board(two)).toMatchObject({ status: 400 });
  });

  test('a request by a token with several boards uses the board that the request names', async () => {
    for (const { id, slug } of [second, { id: world.boardId, slug: world.boardSlug }]) {
      expect(await board(two, `?board=${slug}`)).toMatchObject({ status: 200, body: { board: { id, slug } } });
    }
  });

  test('a request for a board on which the token has no grant gets 403, even if the board is missing or in another account', async () => {
    for (const slug of [ungranted.slug, stranger.boardSlug, 'no-such-board', '', '%00', 'A'.repeat(5000)]) {
      for (const token of [one, two]) {
        const answer = await board(token, `?board=${slug}`);
        expect([slug, answer.status, answer.key]).toEqual([slug, 403, 'board_not_granted']);
      }
    }
    expect(await board(two, `?board=${second.slug.toUpperCase()}`)).toMatchObject({ key: 'board_not_granted' });
  });

  test('a request that names two boards is refused', async () => {
    for (const token of [one, two]) {
      const answer = await board(token, `?board=${world.boardSlug}&board=${second.slug}`);
      expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
      expect(answer.body.error.issues).toMatchObject([{ path: ['query', 'board'] }]);
    }
  });

  test("a board slug in a request always means a board of the token's account, even if a board of another account has the same slug", async () => {
    const twin = await createWorld(server, { slug: world.boardSlug });
    const { token } = await issueToken(server, twin, 'read');
    expect(await board(token, `?board=${world.boardSlug}`)).toMatchObject({ body: { board: { id: twin.boardId } } });
    expect(await board(one, `?board=${world.boardSlug}`)).toMatchObject({ body: { board: { id: world.boardId } } });
  });

  test('a token can neither read nor change ideas of boards on which the token has no grant', async () => {
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

  test('a token with a read grant on one board and a write grant on another can vote only on the board with the write grant', async () => {
    const there = await samples({ ...world, boardId: second.id, boardSlug: second.slug });
    const here = await samples();
    const vote = (sample: ArrangedRequest, slug: string) => send(withQuery(sample, `board=${slug}`), { token: two });
    expect(await vote(here.voteIdea, world.boardSlug)).toMatchObject({ status: 403, key: 'insufficient_scope' });
    expect(await vote(there.voteIdea, second.slug)).toMatchObject({ status: 200 });
    // The token has a read grant on the board of the idea and a write grant on the second board. Even a request that
    // names the second board cannot vote on the idea.
    expect(await vote(here.voteIdea, second.slug)).toMatchObject({ status: 404 });
  });

  test("after the deletion of a token's only board, a request for this board gets 403, and GET /api/v1/token lists no boards", async () => {
    const gone = await createBoard(server, world.accountId);
    const { token } = await issueToken(server, world, { [gone.id]: 'read' });
    expect((await board(token)).status).toBe(200);
    await server.sql('delete from boards where id = $1', [gone.id]);
    expect(await board(token)).toMatchObject({ status: 403, key: 'board_not_granted' });
    expect(await request(server, 'GET /api/v1/token', { token })).toMatchObject({ status: 200, body: { boards: [] } });
  });

  test('a request to GET /api/v1/token needs no board name, even if the token has grants on several boards', async () => {
    expect(await request(server, 'GET /api/v1/token', { token: two })).toMatchObject({ status: 200 });
  });
});

describe('the table of grants', () => {
  const cases = onBoard.flatMap(id =>
    grants.map(held => ({ id, held, ...(metadataOf(id) as { grant: Grant; capability?: Capability }) })),
  );

  test.each(cases)(
    'a token with the grant $held can call the operation $id if and only if $held includes $grant',
    async ({ id, held, grant, capability }) => {
      const capabilities = capability ? [capability] : [];
      const { token } = await issueToken(server, world, held, { capabilities });
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
    },
  );

  test.each(grants)('a token with the grant %s can call GET /api/v1/token', async held => {
    const { token } = await issueToken(server, world, held);
    expect((await request(server, 'GET /api/v1/token', { token })).status).toBe(200);
  });

  test.each(grants)(
    'a request for the approval queue by a token with the grant %s succeeds if the grant is moderate, and otherwise gets 403',
    async held => {
      const { token } = await issueToken(server, world, held);
      const answer = await request(server, 'GET /api/v1/ideas?moderation_state=pending', { token });
      if (held === 'moderate') expect(answer.status).toBe(200);
      else expect(answer).toMatchObject({ status: 403, key: 'insufficient_scope' });
    },
  );

  test('getToken is the only operation that requires a token but no grant on a board', () => {
    expect(authenticated).toEqual(expect.arrayContaining(onBoard));
    expect(authenticated.filter(id => !onBoard.includes(id))).toEqual(['getToken']);
  });

  test("a lowered or removed grant of a token takes effect at the token's next request", async () => {
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
  let token: string;
  let shared: Awaited<ReturnType<typeof samples>>;

  beforeAll(async () => {
    const starter = await createWorld(server);
    ({ token } = await issueToken(server, starter, 'moderate'));
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [starter.accountId]);
    shared = await samples(starter);
  });

  test.each(authenticated)(
    'if the plan of the account does not include the Agent API, the operation %s answers 403',
    async id => {
      const answer = await send(shared[id], { token });
      expect(answer).toMatchObject({ status: 403, key: 'agent_api_unavailable' });
      // The request counts against the token's rate limit, although the plan of the account excludes the Agent API.
      expect(answer.headers.get('x-ratelimit-limit')).not.toBeNull();
    },
  );

  test('a plan change that removes or restores the Agent API takes effect at the next request by any token of the account', async () => {
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

  test('if one account has a plan without the Agent API, the tokens of another account still work', async () => {
    const { accountId } = await createAccount(server, 'starter');
    expect(accountId).not.toBe(world.accountId);
    const { token } = await issueToken(server, world, 'read');
    expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
  });
});

describe('the issuer of a token', () => {
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

  const moderating = operations.filter(({ grant }) => grant === 'moderate');

  test.each(['moderator', 'admin', 'owner'])(
    'a token with the moderate grant can moderate if the issuer of the token has the role %s',
    async role => {
      await setRole(role);
      const sample = await samples(own);
      for (const { id, successStatus } of moderating) {
        expect([id, (await send(sample[id], { token })).status]).toEqual([id, successStatus]);
      }
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
    "after a token issuer's role changes to %s (null: no member), the token's moderator actions get 403, and its other actions still work",
    async role => {
      await setRole('moderator');
      const sample = await samples(own);
      expect((await send(sample.setIdeaStatus, { token })).status).toBe(200);
      await setRole(role);
      for (const { id } of moderating) {
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

  test('a token with the write grant cannot moderate, even if its issuer is an owner of the account', async () => {
    await setRole('owner');
    const write = (await issueToken(server, own, 'write', { issuerId })).token;
    const sample = await samples(own);
    for (const { id } of moderating) {
      expect([id, (await send(sample[id], { token: write })).key]).toEqual([id, 'insufficient_scope']);
    }
    expect(await request(server, `GET /api/v1/ideas/${pendingId}`, { token: write })).toMatchObject({ status: 404 });
    const created = await send(sample.createIdea, { token: write });
    expect(created).toMatchObject({ status: 201, body: { moderation_state: 'pending' } });
    await server.sql('delete from ideas where id = $1', [created.body.id]);
  });

  test('a token with the moderate grant cannot moderate if its issuer is an owner only of another account', async () => {
    await setRole(null);
    await server.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
      world.accountId,
      issuerId,
    ]);
    const { setIdeaStatus } = await samples(own);
    expect(await send(setIdeaStatus, { token })).toMatchObject({ key: 'token_issuer_not_moderator' });
    await setRole('moderator');
  });

  test('while the issuer of a token is blocked, the token can read but not write', async () => {
    await setRole('admin');
    const sample = await samples(own);
    const writing = onBoard.filter(id => (metadataOf(id) as { bucket: string }).bucket === 'apitoken:write');
    expect(writing).toEqual(writes.map(({ id }) => id));
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

  test('a token can write if its issuer is blocked only in another account', async () => {
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, issuerId]);
    expect((await send((await samples(own)).voteIdea, { token })).status).toBe(200);
  });
});
