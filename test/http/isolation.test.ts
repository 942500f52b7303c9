import { describe, expect, test } from 'vitest';
import { createBoard, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { boardOperations, createTargets, operations, requestOf, type Targets } from '../helpers/operations.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

/** An unused id with as many digits as the existing ids. */
const missing = 999;

let token: string;

const server = await startServerForFile();
// All ids have the same number of digits. So two answers with different ids have the same length.
for (const table of ['ideas', 'tags']) await server.sql(`alter table ${table} alter column id restart with 100`);
const world = await createWorld(server);
const { id: boardId, slug: boardSlug } = await createBoard(server, world.accountId);
/** A second board of the same account. `token` has no grant on this board. */
const sibling = { ...world, boardId, boardSlug };
const stranger = await createWorld(server);
const targets = await createTargets(server, world);
/**
 * The ideas and tags of another account, and of another board of the token's account. The token has no access to them.
 */
const elsewhere: Record<string, Targets> = {
  'another account': await createTargets(server, stranger),
  'another board of the account': await createTargets(server, sibling),
};
// The ideas that the token must not see get a comment and a vote. So an answer that reveals such an idea differs from
// other answers.
for (const [place, where] of [
  ['another account', stranger],
  ['another board of the account', sibling],
] as const) {
  const there = await issueToken(server, where, 'moderate');
  const { ideaId } = elsewhere[place] as Targets;
  await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token: there.token, json: { value: 'up' } });
  await request(server, `POST /api/v1/ideas/${ideaId}/comments`, { token: there.token, json: { body: 'Secret.' } });
}
({ token } = await issueToken(server, world, 'moderate'));

/** The response headers that may differ between two answers to the same request. */
const changing = ['x-request-id', 'date', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'keep-alive'];

/**
 * Returns the parts of an answer that a client can compare: the HTTP status, the headers in the order of the answer,
 * and the body.
 */
function comparable({ status, headers, text }: Answer) {
  return { status, headers: [...headers].filter(([name]) => !changing.includes(name)), text };
}

const places = ['another account', 'another board of the account'];

describe.each(boardOperations.filter(({ hasIdeaId }) => hasIdeaId))('the operation $method $path', operation => {
  test.each(places)(
    'a request for an idea of %s changes nothing and gets exactly the same response as a request for a missing idea',
    async place => {
      const there = elsewhere[place] as Targets;
      const before = await snapshot(server);
      const absent = requestOf(operation, targets, { id: missing });
      const expected = comparable(await request(server, absent.line, { token, json: absent.json }));
      expect(expected).toMatchObject({ status: 404, text: expect.stringContaining('"not_found"') });
      for (const id of [there.ideaId, there.mergedId]) {
        const { line, json } = requestOf(operation, targets, { id });
        expect(comparable(await request(server, line, { token, json }))).toEqual(expected);
      }
      expect(await snapshot(server)).toEqual(before);
    },
  );

  test('a request for a pending idea by a token without the moderate grant gets exactly the same response as for a missing idea', async () => {
    const pendingId = await insertIdea(server, world, { moderationState: 'pending' });
    const writer = await issueToken(server, world, 'write');
    const before = await snapshot(server);
    const absent = requestOf(operation, targets, { id: missing });
    const { line, json } = requestOf(operation, targets, { id: pendingId });
    const expected = comparable(await request(server, absent.line, { token: writer.token, json: absent.json }));
    expect(expected.status).toBe(operation.grant === 'moderate' ? 403 : 404);
    expect(comparable(await request(server, line, { token: writer.token, json }))).toEqual(expected);
    expect(await snapshot(server)).toEqual(before);
  });
});

test.each(places)(
  'a merge into an idea of %s gets exactly the same response as a merge into a missing idea',
  async place => {
    const before = await snapshot(server);
    const into = (target_id: number) =>
      request(server, `POST /api/v1/ideas/${targets.ideaId}/merge`, { token, json: { target_id } });
    const expected = comparable(await into(missing));
    expect(expected.status).toBe(404);
    const there = elsewhere[place] as Targets;
    for (const id of [there.ideaId, there.mergedId]) expect(comparable(await into(id))).toEqual(expected);
    expect(await snapshot(server)).toEqual(before);
  },
);

test.each(places)(
  'a request to add or remove a tag of %s gets exactly the same response as for a missing tag',
  async place => {
    const before = await snapshot(server);
    const { tagId, assignedTagId } = elsewhere[place] as Targets;
    const add = (tag_id: number) =>
      request(server, `POST /api/v1/ideas/${targets.ideaId}/tags`, { token, json: { tag_id } });
    const remove = (id: number) => request(server, `DELETE /api/v1/ideas/${targets.ideaId}/tags/${id}`, { token });
    const added = comparable(await add(missing));
    const removed = comparable(await remove(missing));
    expect([added.status, removed.status]).toEqual([422, 200]);
    for (const id of [tagId, assignedTagId]) {
      expect(comparable(await add(id))).toEqual(added);
      expect(comparable(await remove(id))).toEqual(removed);
    }
    expect(await snapshot(server)).toEqual(before);
  },
);

test('a request for a board on which the token has no grant gets exactly the same response as for a missing board', async () => {
  const stranger = await createWorld(server);
  for (const operation of boardOperations) {
    const ask = async (slug: string) => {
      const { line, json } = requestOf(operation, targets, { query: `board=${slug}` });
      return comparable(await request(server, line, { token, json }));
    };
    const expected = await ask('board-0123456789');
    expect(expected).toMatchObject({ status: 403, text: expect.stringContaining('"board_not_granted"') });
    for (const { boardSlug } of [sibling, stranger]) expect(await ask(boardSlug)).toEqual(expected);
  }
});

test("a board's list of ideas and the response for this board contain no data of another board", async () => {
  const moderator = { token };
  const { body: ideas } = await request(server, 'GET /api/v1/ideas?per_page=100', moderator);
  const foreign = Object.values(elsewhere).flatMap(({ ideaId, targetId, mergedId }) => [ideaId, targetId, mergedId]);
  expect(ideas.data.length).toBeGreaterThan(0);
  for (const { id } of ideas.data) expect(foreign).not.toContain(id);
  for (const query of ['status_key=open', 'status=open', 'q=the', 'moderation_state=pending', 'sort=top']) {
    const { body } = await request(server, `GET /api/v1/ideas?per_page=100&${query}`, moderator);
    for (const { id } of body.data) expect(foreign).not.toContain(id);
  }
  const { body: board } = await request(server, 'GET /api/v1/board', moderator);
  expect(board.board.id).toBe(world.boardId);
  const tagIds = board.tags.map(({ id }: { id: number }) => id);
  expect(tagIds.sort()).toEqual([targets.tagId, targets.assignedTagId].sort());
});

test("a request by a token with two boards finds an idea only if the request names the idea's own board", async () => {
  const both = await issueToken(server, world, { [world.boardId]: 'moderate', [sibling.boardId]: 'moderate' });
  const there = elsewhere['another board of the account'] as Targets;
  const before = await snapshot(server);
  for (const operation of boardOperations.filter(({ hasIdeaId }) => hasIdeaId)) {
    for (const [slug, id] of [
      [world.boardSlug, there.ideaId],
      [sibling.boardSlug, targets.ideaId],
    ] as const) {
      const { line, json } = requestOf(operation, targets, { id, query: `board=${slug}` });
      expect((await request(server, line, { token: both.token, json })).status).toBe(404);
    }
  }
  expect(await snapshot(server)).toEqual(before);
});

describe.each(operations)('the operation $method $path', operation => {
  test('a request without a valid token gets 401', async () => {
    const revoked = await issueToken(server, world, 'moderate');
    await server.sql('update api_tokens set revoked_at = now() where id = $1', [revoked.id]);
    const expired = await issueToken(server, world, 'moderate');
    await server.sql(`update api_tokens set expires_at = now() - interval '1 second' where id = $1`, [expired.id]);
    const oauth = await issueToken(server, world, 'moderate');
    await server.sql(`update api_tokens set kind = 'oauth' where id = $1`, [oauth.id]);
    const [, id, secret] = /^ib_(\d+)_(.*)$/.exec(token) ?? [];
    const { line, json } = requestOf(operation, targets);
    const before = await snapshot(server);

    const headers: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: token },
      { authorization: 'Bearer' },
      { authorization: `Basic ${Buffer.from(`${token}:`).toString('base64')}` },
      { authorization: `Token ${token}` },
      { authorization: `Bearer ${token} ${token}` },
      { cookie: `token=${token}; session=${token}` },
      ...[
        revoked.token,
        expired.token,
        oauth.token,
        `${token}x`,
        token.slice(0, -1),
        `ib_${id}_${'A'.repeat(43)}`,
        `ib_${Number(id) + 100_000}_${secret}`,
        `ib_0${id}_${secret}`,
        `ib_${'9'.repeat(30)}_${secret}`,
      ].map(one => ({ authorization: `Bearer ${one}` })),
    ];
    for (const given of headers) {
      const answer = await request(server, line, { headers: given, json });
      expect([given, answer.status, answer.key]).toEqual([given, 401, 'unauthorized']);
    }
    const inQuery = await request(server, `${line}?token=${token}&access_token=${token}`, { json });
    expect(inQuery.status).toBe(401);
    expect(await snapshot(server)).toEqual(before);
  });

  test('a request without a token gets the same answer for an existing, a missing and an invalid idea id', async () => {
    const answers = [missing, targets.ideaId, 'x'].map(async id => {
      const { line, json } = requestOf(operation, targets, { id });
      return comparable(await request(server, line, { json }));
    });
    const [first, ...others] = await Promise.all(answers);
    for (const other of others) expect(other).toEqual(first);
  });
});

describe.each(boardOperations.filter(({ grant }) => grant !== 'read'))('the operation $method $path', operation => {
  test(`an operation that requires the grant ${operation.grant} answers 403 to a token with a lower grant`, async () => {
    const { line, json } = requestOf(operation, targets);
    const lower = operation.grant === 'moderate' ? (['read', 'write'] as const) : (['read'] as const);
    const tokens = await Promise.all(lower.map(grant => issueToken(server, world, grant)));
    const before = await snapshot(server);
    for (const { token: low } of tokens) {
      const answer = await request(server, line, { token: low, json });
      expect([answer.status, answer.key]).toEqual([403, 'insufficient_scope']);
    }
    expect(await snapshot(server)).toEqual(before);
  });
});

test('a token without the moderate grant gets 403 for the approval queue', async () => {
  for (const grant of ['read', 'write'] as const) {
    const { token: low } = await issueToken(server, world, grant);
    const answer = await request(server, 'GET /api/v1/ideas?moderation_state=pending', { token: low });
    expect([answer.status, answer.key]).toEqual([403, 'insufficient_scope']);
  }
});

test('each operation succeeds for a token with exactly the grant that the operation requires', async () => {
  for (const operation of boardOperations) {
    const fresh = await createTargets(server, world);
    const { grant, capability } = operation;
    const capabilities = capability ? [capability] : [];
    const { token: just } = await issueToken(server, world, grant ?? 'read', { capabilities });
    const { line, json } = requestOf(operation, fresh);
    expect([operation.id, (await request(server, line, { token: just, json })).status]).toEqual([
      operation.id,
      operation.successStatus,
    ]);
  }
});

test('a tag cannot be assigned to an idea of another board, even if that board has a tag with the same name', async () => {
  const name = 'The same name';
  await createTag(server, world.accountId, world.boardId, name);
  const there = await createTag(server, sibling.accountId, sibling.boardId, name);
  const answer = await request(server, `POST /api/v1/ideas/${targets.ideaId}/tags`, { token, json: { tag_id: there } });
  expect(answer.key).toBe('invalid_tag');
});

test.each([101, 5_000])(
  'a request without a token for an idea with an id of %d digits gets 401, and with a token 404',
  async digits => {
    const line = `GET /api/v1/ideas/${'9'.repeat(digits)}`;
    expect((await request(server, line)).key).toBe('unauthorized');
    expect((await request(server, line, { token })).key).toBe('not_found');
    const { status } = await request(server, `GET /api/v1/ideas/${String(targets.ideaId).padStart(digits, '0')}`, {
      token,
    });
    expect(status).toBe(200);
  },
);
