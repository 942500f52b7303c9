import { describe, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const clock = testClock('2026-03-14T09:00:00.000Z');

const server = await startServerForFile({ clock, environment: { PLANS_WITHOUT_AGENT_API: 'starter' } });

/**
 * A valid request and its data in the database. Each condition below changes the request or the data, and so causes one
 * error.
 */
interface Scene {
  world: World;
  issuerId: number;
  tokenId: number;
  token: string;
  ideaId: number | string;
  query: string;
  headers: Record<string, string>;
  body: string;
}

async function arrange(): Promise<Scene> {
  const world = await createWorld(server);
  const issuerId = await createMember(server, world.accountId, 'admin');
  const { token, id } = await issueToken(server, world, 'moderate', { issuerId });
  return {
    world,
    issuerId,
    tokenId: id,
    token,
    ideaId: await insertIdea(server, world),
    query: '',
    headers: { 'content-type': 'application/json' },
    body: '{"status":"planned"}',
  };
}

function send({ token, ideaId, query, headers, body }: Scene): Promise<Answer> {
  return request(server, `POST /api/v1/ideas/${ideaId}/status${query}`, { token, headers, raw: body });
}

async function exhaust(key: string, count: number, windowMs: number) {
  const start = new Date(Math.floor(clock.now().getTime() / windowMs) * windowMs);
  await server.sql(
    `insert into rate_limits (key, window_started_at, expires_at, count) values ($1, $2, $3, $4)
    on conflict (key) do update set count = excluded.count`,
    [key, start, new Date(start.getTime() + windowMs), count],
  );
}

interface Condition {
  /**
   * The position of the error in the order of the server's checks. If a request has two errors, the server reports the
   * error with the lower rank.
   */
  rank: number;
  name: string;
  status: number;
  key: string;
  hold(scene: Scene): unknown;
}

/** The conditions, in the order of the server's checks. The tests never combine two conditions with the same rank. */
const conditions: Condition[] = [
  {
    rank: 1,
    name: 'the IP address has exceeded its rate limit',
    status: 429,
    key: 'rate_limited',
    hold: () => exhaust('ip:127.0.0.1', server.config.RATE_LIMIT_IP, 60_000),
  },
  {
    rank: 2,
    name: 'the secret of the token is wrong',
    status: 401,
    key: 'unauthorized',
    hold: scene => {
      scene.token = `ib_${scene.tokenId}_${'A'.repeat(43)}`;
    },
  },
  {
    rank: 2,
    name: 'the token is revoked',
    status: 401,
    key: 'unauthorized',
    hold: ({ tokenId }) => server.sql('update api_tokens set revoked_at = $2 where id = $1', [tokenId, clock.now()]),
  },
  {
    rank: 3,
    name: "the token does not allow the client's network",
    status: 403,
    key: 'network_not_allowed',
    hold: ({ tokenId }) =>
      server.sql(`update api_tokens set allowed_networks = '{192.0.2.0/24}' where id = $1`, [tokenId]),
  },
  {
    rank: 4,
    name: 'the token has exceeded its rate limit',
    status: 429,
    key: 'rate_limited',
    hold: ({ tokenId }) => exhaust(`apitoken:write:${tokenId}`, server.config.RATE_LIMIT_WRITE, 3_600_000),
  },
  {
    rank: 5,
    name: "the account's plan does not include the Agent API",
    status: 403,
    key: 'agent_api_unavailable',
    hold: ({ world }) => server.sql(`update accounts set plan = 'starter' where id = $1`, [world.accountId]),
  },
  {
    rank: 6,
    name: 'the token has two boards and the request names none',
    status: 400,
    key: 'board_required',
    hold: async ({ world, tokenId }) => {
      const { id } = await createBoard(server, world.accountId);
      await server.sql(
        `insert into api_token_boards (account_id, token_id, board_id, level) values ($1, $2, $3, 'moderate')`,
        [world.accountId, tokenId, id],
      );
    },
  },
  {
    rank: 6,
    name: 'the token has no grant on the named board',
    status: 403,
    key: 'board_not_granted',
    hold: scene => {
      scene.query = '?board=another-board';
    },
  },
  {
    rank: 7,
    name: "the token's grant is too low",
    status: 403,
    key: 'insufficient_scope',
    hold: ({ tokenId }) => server.sql(`update api_token_boards set level = 'write' where token_id = $1`, [tokenId]),
  },
  {
    rank: 8,
    name: "the token's issuer is not a moderator",
    status: 403,
    key: 'token_issuer_not_moderator',
    hold: ({ issuerId }) => server.sql(`update memberships set role = 'member' where user_id = $1`, [issuerId]),
  },
  {
    rank: 8,
    name: "the token's issuer is blocked",
    status: 403,
    key: 'user_blocked',
    hold: ({ world, issuerId }) =>
      server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, issuerId]),
  },
  {
    rank: 9,
    name: 'the content type is not JSON',
    status: 415,
    key: 'unsupported_media_type',
    hold: scene => {
      scene.headers = { 'content-type': 'text/plain' };
    },
  },
  {
    rank: 9,
    name: 'the body is too large',
    status: 413,
    key: 'payload_too_large',
    hold: scene => {
      scene.body = JSON.stringify({ status: 'x'.repeat(70_000) });
    },
  },
  {
    rank: 9,
    name: 'the body is not JSON',
    status: 400,
    key: 'malformed_json',
    hold: scene => {
      scene.body = '{"status":';
    },
  },
  {
    rank: 10,
    name: 'the body has an unknown field',
    status: 422,
    key: 'validation_failed',
    hold: scene => {
      scene.body = '{"status":"planned","reason":"none"}';
    },
  },
  {
    rank: 10,
    name: 'the body lacks a required field',
    status: 422,
    key: 'validation_failed',
    hold: scene => {
      scene.body = '{}';
    },
  },
  {
    rank: 11,
    name: 'the idea does not exist',
    status: 404,
    key: 'not_found',
    hold: scene => {
      scene.ideaId = 999_999_999;
    },
  },
  {
    rank: 12,
    name: 'the board is frozen',
    status: 423,
    key: 'board_frozen',
    hold: ({ world }) => server.sql('update boards set is_frozen = true where id = $1', [world.boardId]),
  },
  {
    rank: 13,
    name: 'the board does not have the requested status',
    status: 422,
    key: 'invalid_status',
    hold: scene => {
      scene.body = '{"status":"no_such_status"}';
    },
  },
  {
    rank: 13,
    name: 'the idea is pending',
    status: 422,
    key: 'idea_not_published',
    hold: ({ ideaId }) =>
      Number(ideaId) === 999_999_999 ||
      server.sql(`update ideas set moderation_state = 'pending' where id = $1`, [ideaId]),
  },
];

/**
 * The names of the conditions that set the body of the request. A request has only one body, so the tests never combine
 * two of these conditions.
 */
const ofTheBody = new Set([
  'the body is too large',
  'the body is not JSON',
  'the body has an unknown field',
  'the body lacks a required field',
  'the board does not have the requested status',
]);

async function outcomeOf(...held: Condition[]) {
  const scene = await arrange();
  for (const condition of held) await condition.hold(scene);
  const { status, key } = await send(scene);
  await server.sql(`delete from rate_limits where key like 'ip:%'`);
  const [idea] = await server.sql<{ key: string }>(
    'select s.key from ideas i join statuses s on s.id = i.status_id where i.board_id = $1',
    [scene.world.boardId],
  );
  return { status, key, left: idea?.key };
}

test('a request gets 200 and takes effect if none of the tested errors applies', async () => {
  expect(await outcomeOf()).toEqual({ status: 200, key: undefined, left: 'planned' });
});

describe.each(conditions)('when $name', condition => {
  const { status, key, rank } = condition;

  test(`a request gets ${status} ${key} and changes nothing when ${condition.name}`, async () => {
    expect(await outcomeOf(condition)).toEqual({ status, key, left: 'open' });
  });

  const later = conditions.filter(
    other => other.rank > rank && !(ofTheBody.has(condition.name) && ofTheBody.has(other.name)),
  );

  if (later.length > 0) {
    test(`a request gets ${status} ${key} when ${condition.name}, even if an error that is checked later also applies`, async () => {
      for (const other of later) {
        expect([other.name, await outcomeOf(condition, other)]).toEqual([other.name, { status, key, left: 'open' }]);
      }
    });
  }
});

describe('the order of the checks in other operations', () => {
  test('if a request for a missing idea has an invalid query, the error is about the query', async () => {
    const scene = await arrange();
    const { token } = scene;
    for (const line of ['GET /api/v1/ideas/999999999?x=1', 'GET /api/v1/ideas/999999999/comments?page=0']) {
      expect(await request(server, line, { token })).toMatchObject({ status: 422, key: 'validation_failed' });
    }
  });

  test('if a request has a malformed body and an invalid query, the error is about the body', async () => {
    const scene = await arrange();
    expect(await send({ ...scene, query: '?x=1', body: '{' })).toMatchObject({ status: 400, key: 'malformed_json' });
    const text = { 'content-type': 'text/plain' };
    expect(await send({ ...scene, query: '?x=1', headers: text })).toMatchObject({ status: 415 });
  });

  test('if a query parameter needs a higher grant and is also invalid, the error is about the grant', async () => {
    const { world } = await arrange();
    const { token } = await issueToken(server, world, 'read');
    const answer = await request(server, 'GET /api/v1/ideas?moderation_state=none', { token });
    expect(answer).toMatchObject({ status: 403, key: 'insufficient_scope' });
  });

  test('the server checks a vote in this order: missing idea, frozen board, voting window, status of the idea', async () => {
    const { world, token, ideaId } = await arrange();
    const vote = async (id: unknown) =>
      (await request(server, `POST /api/v1/ideas/${id}/vote`, { token, json: { value: 'up' } })).key;
    await server.sql('update boards set is_frozen = true, voting_close_at = $2 where id = $1', [
      world.boardId,
      clock.now(),
    ]);
    await server.sql('update statuses set allow_votes = false where board_id = $1', [world.boardId]);
    expect(await vote(999_999_999)).toBe('not_found');
    expect(await vote(ideaId)).toBe('board_frozen');
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    expect(await vote(ideaId)).toBe('voting_closed');
    await server.sql('update boards set voting_close_at = null where id = $1', [world.boardId]);
    expect(await vote(ideaId)).toBe('status_votes_closed');
    await server.sql('update statuses set allow_votes = true where board_id = $1', [world.boardId]);
    expect(await vote(ideaId)).toBeUndefined();
  });

  test('the server checks a comment in this order: frozen board, status of the idea, pending idea, previous comment by the same user', async () => {
    const { world, token, ideaId } = await arrange();
    const comment = async () =>
      (await request(server, `POST /api/v1/ideas/${ideaId}/comments`, { token, json: { body: 'A comment.' } })).key;
    expect(await comment()).toBeUndefined();
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    await server.sql('update statuses set allow_comments = false where board_id = $1', [world.boardId]);
    await server.sql(`update ideas set moderation_state = 'pending' where id = $1`, [ideaId]);
    expect(await comment()).toBe('board_frozen');
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    expect(await comment()).toBe('status_comments_closed');
    await server.sql('update statuses set allow_comments = true where board_id = $1', [world.boardId]);
    expect(await comment()).toBe('idea_not_published');
    await server.sql(`update ideas set moderation_state = 'published' where id = $1`, [ideaId]);
    expect(await comment()).toBe('consecutive_comment');
  });

  test('a merge of an idea into itself on a frozen board gets the error for the frozen board', async () => {
    const { world, token, ideaId } = await arrange();
    const merge = async () =>
      (await request(server, `POST /api/v1/ideas/${ideaId}/merge`, { token, json: { target_id: ideaId } })).key;
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    expect(await merge()).toBe('board_frozen');
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    expect(await merge()).toBe('merge_into_self');
  });

  test('a new idea on a frozen board with a closed submission window gets the error for the frozen board', async () => {
    const { world, token } = await arrange();
    const create = async () =>
      (await request(server, 'POST /api/v1/ideas', { token, json: { title: 'A', body: 'B' } })).key;
    await server.sql('update boards set is_frozen = true, submissions_close_at = $2 where id = $1', [
      world.boardId,
      clock.now(),
    ]);
    expect(await create()).toBe('board_frozen');
    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    expect(await create()).toBe('submissions_closed');
  });
});
