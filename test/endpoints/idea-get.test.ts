import { describe, expect, test } from 'vitest';
import {
  createBoard,
  createMember,
  createTag,
  createWorld,
  insertIdea,
  issueToken,
  setUpdatedAt,
} from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';

let token: string;

const server = await startServerForFile();
const world = await createWorld(server, {
  statuses: [
    { key: 'open', category: 'inbox', label: 'Open' },
    { key: 'building', category: 'active', label: 'Being built' },
    { key: 'hidden', category: 'declined', label: 'Hidden', isHidden: true },
  ],
});
({ token } = await issueToken(server, world, 'write'));
const { token: moderator } = await issueToken(server, world, 'moderate');

const get = (id: unknown, by = token) => request(server, `GET /api/v1/ideas/${id}`, { token: by });

test('the response for an idea has every field of the contract', async () => {
  const authorId = await createMember(server, world.accountId, 'member', 'Ada Osei');
  const id = await insertIdea(server, world, {
    title: 'Export a board as CSV',
    body: 'Every month.\n\nIn a spreadsheet.',
    status: 'building',
    authorId,
    createdAt: new Date('2026-03-14T09:26:53.589Z'),
  });
  const tags: Record<string, number> = {};
  for (const name of ['reports', 'Billing']) {
    tags[name] = await createTag(server, world.accountId, world.boardId, name);
    await request(server, `POST /api/v1/ideas/${id}/tags`, { token: moderator, json: { tag_id: tags[name] } });
  }
  await request(server, `POST /api/v1/ideas/${id}/vote`, { token, json: { value: 'down' } });
  await request(server, `POST /api/v1/ideas/${id}/vote`, { token: moderator, json: { value: 'up' } });
  await request(server, `POST /api/v1/ideas/${id}/comments`, { token, json: { body: 'Yes.' } });
  await setUpdatedAt(server, id, '2026-03-15 12:00:00+02');

  const { status, body } = await get(id);
  expect(status).toBe(200);
  expect(body).toEqual({
    id,
    title: 'Export a board as CSV',
    body: 'Every month.\n\nIn a spreadsheet.',
    body_truncated: false,
    status: 'in_progress',
    status_key: 'building',
    status_category: 'active',
    status_label: 'Being built',
    moderation_state: 'published',
    score: 0,
    up_count: 1,
    down_count: 1,
    comment_count: 1,
    my_vote: 'down',
    tags: [
      { id: tags.Billing, name: 'Billing', color: '#0f766e' },
      { id: tags.reports, name: 'reports', color: '#0f766e' },
    ],
    author: { id: authorId, name: 'Ada Osei' },
    merged_into_id: null,
    created_at: '2026-03-14T09:26:53.589Z',
    updated_at: '2026-03-15T10:00:00.000Z',
    url: `${server.config.BASE_URL}/b/${world.boardSlug}/ideas/${id}`,
  });
});

test.each([
  ['inbox', 'open'],
  ['planned', 'planned'],
  ['active', 'in_progress'],
  ['completed', 'done'],
  ['declined', 'declined'],
  ['archived', 'archived'],
] as const)(
  'an idea in a status of the category %s has the value %s in the field `status`',
  async (category, status) => {
    const own = await createWorld(server, { statuses: [{ key: 'custom-key', category, label: 'Custom' }] });
    const reader = await issueToken(server, own, 'read');
    const { body } = await get(await insertIdea(server, own, { status: 'custom-key' }), reader.token);
    expect(body).toMatchObject({ status, status_key: 'custom-key', status_category: category, status_label: 'Custom' });
  },
);

test("the response to every request that reads, lists, creates or changes an idea has the idea's `url` in the form that the setting IDEA_URL defines", async () => {
  const own = await startServerForTest({
    environment: {
      BASE_URL: 'https://ideas.example.com',
      IDEA_URL: 'https://feedback.example.com/{board}/{id}?from=api',
    },
  });
  const here = await createWorld(own, { slug: 'a-board' });
  const other = await createBoard(own, here.accountId, { slug: 'another-board' });
  const by = await issueToken(own, here, { [here.boardId]: 'moderate', [other.id]: 'moderate' });
  const ids = [await insertIdea(own, here), await insertIdea(own, here)];
  const elsewhere = await insertIdea(own, { ...here, boardId: other.id });
  const ask = async (line: string, json?: unknown) => {
    const answer = await request(own, `${line}?board=a-board`, { token: by.token, json });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  const urlOf = (id: number, board = 'a-board') => `https://feedback.example.com/${board}/${id}?from=api`;
  const [id = 0, targetId = 0] = ids;
  expect((await ask(`GET /api/v1/ideas/${id}`)).url).toBe(urlOf(id));
  expect((await ask('GET /api/v1/ideas')).data.map(({ url }: { url: string }) => url).sort()).toEqual(
    [urlOf(id), urlOf(targetId)].sort(),
  );
  const created = await ask('POST /api/v1/ideas', { title: 'New', body: 'New.' });
  expect(created.url).toBe(urlOf(created.id));
  expect((await ask(`POST /api/v1/ideas/${id}/status`, { status: 'planned' })).url).toBe(urlOf(id));
  const merged = await ask(`POST /api/v1/ideas/${id}/merge`, { target_id: targetId });
  expect([merged.idea.url, merged.target.url]).toEqual([urlOf(id), urlOf(targetId)]);
  const there = await request(own, `GET /api/v1/ideas/${elsewhere}?board=another-board`, { token: by.token });
  expect(there.body.url).toBe(urlOf(elsewhere, 'another-board'));
});

test('the field `my_vote` of an idea is the vote of the requesting token, not the vote of its issuer or of another token', async () => {
  const id = await insertIdea(server, world);
  await request(server, `POST /api/v1/ideas/${id}/vote`, { token, json: { value: 'up' } });
  const [voter] = await server.sql<{ id: number }>(
    'insert into voters (account_id, user_id) values ($1, $2) returning id',
    [world.accountId, world.ownerId],
  );
  await server.sql('insert into votes (idea_id, voter_id, account_id, value) values ($1, $2, $3, -1)', [
    id,
    voter?.id,
    world.accountId,
  ]);
  expect((await get(id)).body.my_vote).toBe('up');
  expect((await get(id, moderator)).body.my_vote).toBe('none');
});

test('a token can read an idea in a hidden status by its id', async () => {
  expect(await get(await insertIdea(server, world, { status: 'hidden' }))).toMatchObject({ status: 200 });
});

test('only a token with the moderate grant can read a pending idea', async () => {
  const id = await insertIdea(server, world, { moderationState: 'pending' });
  expect(await get(id, moderator)).toMatchObject({ status: 200, body: { id, moderation_state: 'pending' } });
  const missing = await get(999_999_999);
  expect(await get(id)).toMatchObject({ status: 404, text: missing.text });
});

test('no token can read a rejected idea', async () => {
  const id = await insertIdea(server, world, { moderationState: 'rejected' });
  for (const by of [token, moderator]) expect(await get(id, by)).toMatchObject({ status: 404, key: 'not_found' });
});

test('the response for a merged idea has the id of the target in `merged_into_id`', async () => {
  const id = await insertIdea(server, world);
  const target = await insertIdea(server, world);
  await request(server, `POST /api/v1/ideas/${id}/merge`, { token: moderator, json: { target_id: target } });
  expect(await get(id)).toMatchObject({ status: 200, body: { id, merged_into_id: target } });
  expect(await get(target)).toMatchObject({ status: 200, body: { merged_into_id: null } });
});

test('the response for an idea has the current name of its author after the author was renamed', async () => {
  const authorId = await createMember(server, world.accountId, 'member', 'Before');
  const id = await insertIdea(server, world, { authorId });
  await server.sql(`update users set name = 'After' where id = $1`, [authorId]);
  expect((await get(id)).body.author).toEqual({ id: authorId, name: 'After' });
});

test('a request for a deleted idea or an idea of another account gets the same response as a request for an id that never existed', async () => {
  const removed = await insertIdea(server, world);
  await server.sql('delete from ideas where id = $1', [removed]);
  const elsewhere = await insertIdea(server, await createWorld(server));
  const missing = await get(999_999_999);
  expect(missing).toMatchObject({ status: 404, key: 'not_found' });
  for (const id of [removed, elsewhere]) expect((await get(id)).text).toBe(missing.text);
});

describe('the parameter expand', () => {
  const read = (id: number, query: string, by = moderator) =>
    request(server, `GET /api/v1/ideas/${id}${query}`, { token: by });
  const list = async (id: number, what: 'comments' | 'votes') => (await read(id, `/${what}`)).body;

  /** Creates an idea with 21 comments. 21 tokens have voted on this idea. */
  async function createBusyIdea() {
    const id = await insertIdea(server, world);
    await server.sql(
      `insert into comments (account_id, idea_id, author_id, body)
      select $1, $2, $3, 'Comment ' || n from generate_series(1, 21) n`,
      [world.accountId, id, world.ownerId],
    );
    await server.sql(
      `with voter as (insert into voters (account_id) select $1 from generate_series(1, 21) returning id)
      insert into votes (idea_id, voter_id, account_id, value) select $2, id, $1, 1 from voter`,
      [world.accountId, id],
    );
    return id;
  }

  test('the response for an idea has the first page of its comments or votes only if the parameter `expand` names them', async () => {
    const id = await createBusyIdea();
    const plain = (await get(id, moderator)).body;
    const [comments, votes] = [await list(id, 'comments'), await list(id, 'votes')];
    expect([comments.data.length, votes.data.length]).toEqual([20, 20]);
    expect(plain).not.toHaveProperty('comments');
    expect(plain).not.toHaveProperty('votes');
    expect((await read(id, '?expand=comments')).body).toEqual({ ...plain, comments });
    expect((await read(id, '?expand=votes')).body).toEqual({ ...plain, votes });
    expect((await read(id, '?expand=')).body).toEqual(plain);
    for (const query of ['?expand=votes,comments', '?expand=comments&expand=votes']) {
      expect((await read(id, query)).body).toEqual({ ...plain, comments, votes });
    }
    const rest = await read(id, `/comments?cursor=${comments.next_cursor}`);
    expect(rest.body.data).toMatchObject([{ body: 'Comment 21' }]);
  });

  test('the parameter `expand=votes` needs a token with the moderate grant whose issuer is a moderator, and `expand=comments` works with every token', async () => {
    const id = await insertIdea(server, world);
    const issuerId = await createMember(server, world.accountId, 'member');
    const former = await issueToken(server, world, 'moderate', { issuerId });
    for (const query of ['?expand=votes', '?expand=comments,votes', '?expand=comments&expand=votes']) {
      expect(await read(id, query, token)).toMatchObject({ status: 403, key: 'insufficient_scope' });
      expect(await read(id, query, former.token)).toMatchObject({ status: 403, key: 'token_issuer_not_moderator' });
    }
    for (const by of [token, former.token]) expect((await read(id, '?expand=comments', by)).status).toBe(200);
  });

  test('a request for an idea is rejected if its parameter `expand` has an unknown value or too many values', async () => {
    const id = await insertIdea(server, world);
    for (const value of ['tags', 'comments,', 'comments, votes', 'Comments', 'comments,comments,comments']) {
      const answer = await read(id, `?expand=${value}`);
      expect([value, answer.status, answer.key]).toEqual([value, 422, 'validation_failed']);
      expect(answer.body.error.issues[0].path.slice(0, 2)).toEqual(['query', 'expand']);
    }
  });

  test('a request with the parameter `expand` gets 404 for an idea that the token cannot see', async () => {
    const pending = await insertIdea(server, world, { moderationState: 'pending' });
    expect(await read(pending, '?expand=comments', token)).toMatchObject({ status: 404, key: 'not_found' });
    const { body } = await read(pending, '?expand=comments,votes');
    expect([body.comments.data, body.votes.data]).toEqual([[], []]);
    const elsewhere = await insertIdea(server, await createWorld(server));
    expect(await read(elsewhere, '?expand=comments,votes')).toMatchObject({ status: 404, key: 'not_found' });
  });
});
