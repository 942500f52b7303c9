import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Grant } from '../../contract/grants.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const now = '2026-03-14T09:26:53.589Z';
const clock = testClock(now);

let server: TestServer;
let world: World;
let ideaId: number;
let moderator: string;

beforeAll(async () => {
  server = await startServer({ clock });
});
beforeEach(async () => {
  clock.set(now);
  world = await createWorld(server);
  ideaId = await insertIdea(server, world);
  ({ token: moderator } = await issueToken(server, world, 'moderate'));
});
afterAll(() => server.close());

const list = (query = '', id: number | string = ideaId, token = moderator) =>
  request(server, `GET /api/v1/ideas/${id}/votes${query}`, { token });
const votersOf = async (id = ideaId) =>
  (await list('', id)).body.data.map(({ voter }: { voter: { name: string } }) => voter.name);
const post = (id: number, action: string, json?: object, token = moderator) =>
  request(server, `POST /api/v1/ideas/${id}/${action}`, { token, ...(json ? { json } : {}) });

/**
 * Issues a token with the given name, and votes with it on ideas. The vote is a second newer than the previous vote.
 */
async function voteAs(name: string, value: 'up' | 'down', ...ids: number[]) {
  const issued = await issueToken(server, world, 'write', { name });
  for (const id of ids) {
    clock.advance(1000);
    expect((await post(id, 'vote', { value }, issued.token)).status).toBe(200);
  }
  return issued;
}

/**
 * Inserts the row of a vote by a person. The server inserts the same row when a person votes on the page of the idea.
 */
async function voteInPerson(userId: number, value: 1 | -1, at: string) {
  await server.sql(
    `with voter as (insert into voters (account_id, user_id) values ($1, $2) returning id)
    insert into votes (idea_id, voter_id, account_id, value, created_at) select $3, id, $1, $4, $5 from voter`,
    [world.accountId, userId, ideaId, value, at],
  );
}

test('the list of votes has the votes of tokens and of people, newest first, each with its voter, its value and its time', async () => {
  const ada = await createMember(server, world.accountId, 'member', 'Ada Osei');
  const { id } = await voteAs('Support desk', 'up', ideaId);
  await voteInPerson(ada, -1, '2026-03-14T09:26:55.000Z');
  const answer = await list();
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    data: [
      {
        value: 'down',
        voter: { kind: 'person', id: ada, name: 'Ada Osei', issuer: null },
        carried_from_id: null,
        created_at: '2026-03-14T09:26:55.000Z',
      },
      {
        value: 'up',
        voter: { kind: 'token', id, name: 'Support desk', issuer: { id: world.ownerId, name: 'The owner' } },
        carried_from_id: null,
        created_at: '2026-03-14T09:26:54.589Z',
      },
    ],
    page: 1,
    per_page: 20,
    has_more: false,
    next_cursor: null,
  });
});

test("the list of votes shows a changed vote with the time of the voter's first vote, and does not show a withdrawn vote", async () => {
  const { token } = await voteAs('First', 'up', ideaId);
  const { token: other } = await voteAs('Second', 'up', ideaId);
  clock.advance(60_000);
  await post(ideaId, 'vote', { value: 'down' }, token);
  await post(ideaId, 'vote', { value: 'none' }, other);
  expect((await list()).body.data).toMatchObject([
    { value: 'down', voter: { name: 'First' }, created_at: '2026-03-14T09:26:54.589Z' },
  ]);
});

test('the vote of a revoked token stays in the list of votes, with the name of the token', async () => {
  const { id } = await voteAs('Revoked', 'up', ideaId);
  await server.sql('update api_tokens set revoked_at = $2 where id = $1', [id, clock.now()]);
  expect(await votersOf()).toEqual(['Revoked']);
});

test('the list of votes shows an erased user as a person without an id and with the name "Deleted user"', async () => {
  const ada = await createMember(server, world.accountId, 'member', 'Ada Osei');
  await voteInPerson(ada, 1, now);
  // Deletes the user in the same way as the last step of an erasure. A foreign key then removes the user from the row
  // of the voter.
  await server.sql('delete from memberships where user_id = $1', [ada]);
  await server.sql('delete from users where id = $1', [ada]);
  expect((await list()).body.data).toMatchObject([
    { value: 'up', voter: { kind: 'person', id: null, name: 'Deleted user', issuer: null } },
  ]);
});

describe('the votes of merged ideas', () => {
  test('after a merge, the list of votes of the target contains each voter once, and shows which votes come from the merged idea', async () => {
    const source = await insertIdea(server, world);
    await voteAs('Only the source', 'up', source);
    const both = await issueToken(server, world, 'write', { name: 'Both' });
    await post(source, 'vote', { value: 'up' }, both.token);
    await post(ideaId, 'vote', { value: 'down' }, both.token);
    await post(source, 'merge', { target_id: ideaId });

    const { data } = (await list()).body;
    expect(data).toHaveLength(2);
    expect(data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          value: 'up',
          voter: expect.objectContaining({ name: 'Only the source' }),
          carried_from_id: source,
          created_at: '2026-03-14T09:26:54.589Z',
        }),
        expect.objectContaining({
          value: 'down',
          voter: expect.objectContaining({ name: 'Both' }),
          carried_from_id: null,
        }),
      ]),
    );
    const idea = await request(server, `GET /api/v1/ideas/${ideaId}`, { token: moderator });
    expect(idea.body).toMatchObject({ up_count: 1, down_count: 1 });
  });

  test("the list of votes of a merged idea still shows this idea's votes, and after an unmerge the target's list no longer shows them", async () => {
    const source = await insertIdea(server, world);
    await voteAs('Voter', 'up', source);
    await post(source, 'merge', { target_id: ideaId });
    expect([await votersOf(source), await votersOf()]).toEqual([['Voter'], ['Voter']]);
    await post(source, 'unmerge');
    expect([await votersOf(source), await votersOf()]).toEqual([['Voter'], []]);
  });

  test('the list of votes of a target idea leaves out votes that the server copied to this idea before a failed merge', async () => {
    const source = await insertIdea(server, world);
    await voteAs('Voter', 'up', source);
    // A merge copies votes before it starts the transaction that merges the ideas. If this transaction fails, the
    // copies stay in the database.
    await server.sql('select copy_votes($1, $2, $3, 0, 100)', [world.accountId, source, ideaId]);
    expect(await server.sql('select value from votes where idea_id = $1', [ideaId])).toEqual([{ value: 1 }]);
    expect(await votersOf()).toEqual([]);
  });
});

describe('the pages of the list of votes', () => {
  test('the pages of the list of votes can be read by number or by cursor, and each vote is on exactly one page', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await voteAs(name, 'up', ideaId);
    const newestFirst = names.toReversed();
    const seen: string[] = [];
    let query = '?per_page=2';
    for (let page = 1; page <= 3; page++) {
      const { body } = await list(query);
      const ofPage = body.data.map(({ voter }: { voter: { name: string } }) => voter.name);
      seen.push(...ofPage);
      expect((await list(`?per_page=2&page=${page}`)).body.data).toEqual(body.data);
      expect([body.has_more, body.next_cursor !== null]).toEqual([page < 3, page < 3]);
      query = `?per_page=2&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(newestFirst);
  });

  test('each of several votes with the same time is on exactly one page of the list of votes', async () => {
    const voters = await Promise.all([...'abcde'].map(name => issueToken(server, world, 'write', { name })));
    for (const { token } of voters) await post(ideaId, 'vote', { value: 'up' }, token);
    const first = (await list('?per_page=3')).body;
    const second = (await list(`?per_page=3&cursor=${first.next_cursor}`)).body;
    const ids = [...first.data, ...second.data].map(({ voter }: { voter: { id: number } }) => voter.id);
    expect(ids.sort()).toEqual(voters.map(({ id }) => id).sort());
  });

  test('the list of votes rejects a cursor of the list of ideas', async () => {
    await insertIdea(server, world);
    const ideas = await request(server, 'GET /api/v1/ideas?per_page=1', { token: moderator });
    expect(await list(`?cursor=${ideas.body.next_cursor}`)).toMatchObject({ status: 422, key: 'validation_failed' });
  });
});

describe('access to the list of votes', () => {
  test.each<Grant>(['read', 'write'])('a token with the grant %s gets 403 for the list of votes', async grant => {
    const { token } = await issueToken(server, world, grant);
    const answer = await list('', ideaId, token);
    expect(answer).toMatchObject({ status: 403, key: 'insufficient_scope' });
    expect(answer.body.error.details).toMatchObject({ needed: 'moderate', held: grant });
  });

  test('a token with the moderate grant gets 403 for the list of votes if its issuer is no longer a moderator', async () => {
    const issuerId = await createMember(server, world.accountId, 'member');
    const { token } = await issueToken(server, world, 'moderate', { issuerId });
    expect(await list('', ideaId, token)).toMatchObject({ status: 403, key: 'token_issuer_not_moderator' });
  });

  test('the list of votes of a pending idea is empty', async () => {
    const pending = await insertIdea(server, world, { moderationState: 'pending' });
    expect(await list('', pending)).toMatchObject({ status: 200, body: { data: [] } });
  });

  test("the list of votes gets 404 if the idea is missing or rejected, or is not on the token's board", async () => {
    const rejected = await insertIdea(server, world, { moderationState: 'rejected' });
    const other = await createWorld(server);
    const elsewhere = await insertIdea(server, other);
    const { id: boardId } = await createBoard(server, world.accountId);
    const sibling = { ...world, boardId };
    const onSibling = await insertIdea(server, sibling);
    for (const [place, id] of [
      [other, elsewhere],
      [sibling, onSibling],
    ] as const) {
      const { token } = await issueToken(server, place, 'write');
      expect((await post(id, 'vote', { value: 'up' }, token)).status).toBe(200);
    }
    for (const id of [999_999_999, rejected, elsewhere, onSibling, 'one']) {
      expect([id, await list('', id)]).toMatchObject([id, { status: 404, key: 'not_found' }]);
    }
  });

  test('votes on a frozen board can be listed, and listing the votes changes nothing', async () => {
    await voteAs('Voter', 'up', ideaId);
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    const before = await snapshot(server);
    expect(await votersOf()).toEqual(['Voter']);
    expect(await snapshot(server)).toEqual(before);
  });
});
