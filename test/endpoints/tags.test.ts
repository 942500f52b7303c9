import { afterEach, expect, test } from 'vitest';
import { createBoard, createTag, createWorld, insertIdea, issueToken, setUpdatedAt } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const billing = await createTag(server, world.accountId, world.boardId, 'Billing');
const access = await createTag(server, world.accountId, world.boardId, 'access');
const { token } = await issueToken(server, world, 'moderate');
afterEach(() => expectInvariants(server));

const add = (ideaId: number, tagId: unknown, by = token) =>
  request(server, `POST /api/v1/ideas/${ideaId}/tags`, { token: by, json: { tag_id: tagId } });
const remove = (ideaId: number, tagId: number | string, by = token) =>
  request(server, `DELETE /api/v1/ideas/${ideaId}/tags/${tagId}`, { token: by });
const read = (ideaId: number) => request(server, `GET /api/v1/ideas/${ideaId}`, { token });
const stored = (ideaId: number) =>
  server.sql('select tag_id, account_id from idea_tags where idea_id = $1 order by tag_id', [ideaId]);

const createTags = (count: number) =>
  Promise.all(Array.from({ length: count }, () => createTag(server, world.accountId, world.boardId)));

const longAgo = '2026-01-01T00:00:00.000Z';
const setLongAgo = (ideaId: number) => setUpdatedAt(server, ideaId, longAgo);

test("a token with the moderate grant can add and remove tags of an idea, and the response has the idea's tags sorted by name", async () => {
  const ideaId = await insertIdea(server, world);
  await setLongAgo(ideaId);
  const first = await add(ideaId, billing);
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({ id: ideaId, tags: [{ id: billing, name: 'Billing', color: '#0f766e' }] });
  expect(first.body.updated_at > longAgo).toBe(true);

  const second = await add(ideaId, access);
  expect(second.body.tags.map(({ name }: { name: string }) => name)).toEqual(['access', 'Billing']);
  expect((await read(ideaId)).body).toEqual(second.body);
  expect(await stored(ideaId)).toEqual(
    [billing, access].sort((a, b) => a - b).map(tag_id => ({ tag_id, account_id: world.accountId })),
  );

  await setLongAgo(ideaId);
  const third = await remove(ideaId, billing);
  expect(third.status).toBe(200);
  expect(third.body.tags).toEqual([{ id: access, name: 'access', color: '#0f766e' }]);
  expect(third.body.updated_at > longAgo).toBe(true);
  expect(await stored(ideaId)).toEqual([{ tag_id: access, account_id: world.accountId }]);
});

test('adding a tag that the idea already has changes nothing, not even updated_at', async () => {
  const ideaId = await insertIdea(server, world);
  await add(ideaId, billing);
  await setLongAgo(ideaId);
  const before = await snapshot(server);
  const again = await add(ideaId, billing);
  expect(again.status).toBe(200);
  expect(again.body).toEqual((await read(ideaId)).body);
  expect(again.body.updated_at).toBe(longAgo);
  expect(again.body.tags).toHaveLength(1);
  expect(await snapshot(server)).toEqual(before);
});

test('removing a tag that the idea does not have changes nothing, not even updated_at', async () => {
  const ideaId = await insertIdea(server, world);
  await add(ideaId, billing);
  await setLongAgo(ideaId);
  const elsewhere = await createWorld(server);
  const foreign = await createTag(server, elsewhere.accountId, elsewhere.boardId);
  const before = await snapshot(server);
  for (const tagId of [access, foreign, 999_999_999]) {
    const answer = await remove(ideaId, tagId);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ updated_at: longAgo, tags: [{ id: billing }] });
  }
  expect(await snapshot(server)).toEqual(before);
});

test("a missing tag or another board's tag cannot be added to an idea, and nothing changes", async () => {
  const ideaId = await insertIdea(server, world);
  const sibling = await createBoard(server, world.accountId);
  const ofSibling = await createTag(server, world.accountId, sibling.id);
  const stranger = await createWorld(server);
  const ofStranger = await createTag(server, stranger.accountId, stranger.boardId);
  // Even a token with the moderate grant on both boards must not add a tag of one board to an idea of the other board.
  const both = await issueToken(server, world, { [world.boardId]: 'moderate', [sibling.id]: 'moderate' });
  const before = await snapshot(server);
  for (const tagId of [ofSibling, ofStranger, 999_999_999, Number.MAX_SAFE_INTEGER]) {
    const answer = await add(ideaId, tagId);
    expect([answer.status, answer.key]).toEqual([422, 'invalid_tag']);
    const across = await request(server, `POST /api/v1/ideas/${ideaId}/tags?board=${world.boardSlug}`, {
      token: both.token,
      json: { tag_id: tagId },
    });
    expect([across.status, across.key]).toEqual([422, 'invalid_tag']);
  }
  expect(await snapshot(server)).toEqual(before);
});

test('if several requests add the same tag to an idea at once, the idea has the tag once, and all responses show this tag', async () => {
  const ideaId = await insertIdea(server, world);
  const answers = await Promise.all(Array.from({ length: 20 }, () => add(ideaId, billing)));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  for (const { body } of answers) expect(body.tags).toEqual([{ id: billing, name: 'Billing', color: '#0f766e' }]);
  expect(new Set(answers.map(({ body }) => body.updated_at)).size).toBe(1);
  expect(await stored(ideaId)).toHaveLength(1);
});

test("while a board's tag is being deleted, a request to add this tag to an idea waits and then gets invalid_tag", async () => {
  const ideaId = await insertIdea(server, world);
  const tagId = await createTag(server, world.accountId, world.boardId);
  const remover = await server.database.pool.connect();
  let adding: ReturnType<typeof add> | undefined;
  try {
    await remover.query('begin');
    await remover.query('delete from tags where id = $1', [tagId]);
    adding = add(ideaId, tagId);
    await waitForLockWaits(server, 1);
  } finally {
    await remover.query('commit');
    remover.release();
  }
  expect(await adding).toMatchObject({ status: 422, key: 'invalid_tag' });
});

test('several concurrent requests that add or remove different tags of an idea all take effect', async () => {
  const ideaId = await insertIdea(server, world);
  const tagIds = await createTags(10);
  await Promise.all(tagIds.map(tagId => add(ideaId, tagId)));
  expect((await read(ideaId)).body.tags).toHaveLength(10);
  await Promise.all(tagIds.slice(0, 6).map(tagId => remove(ideaId, tagId)));
  expect((await read(ideaId)).body.tags.map(({ id }: { id: number }) => id).sort()).toEqual(tagIds.slice(6).sort());
});

test('an idea that has 10 tags gets no more tags until one of these tags is removed', async () => {
  const ideaId = await insertIdea(server, world);
  const [another, ...tagIds] = await createTags(11);
  for (const tagId of tagIds) expect((await add(ideaId, tagId)).status).toBe(200);
  const before = await snapshot(server);
  expect(await add(ideaId, another)).toMatchObject({ status: 422, key: 'too_many_tags' });
  // The idea has the maximum of 10 tags. Requests to add an unknown tag, or a tag that the idea already has, still get
  // their usual answers.
  expect(await add(ideaId, 999_999_999)).toMatchObject({ status: 422, key: 'invalid_tag' });
  expect((await add(ideaId, tagIds[0])).body).toEqual((await read(ideaId)).body);
  expect(await snapshot(server)).toEqual(before);
  await remove(ideaId, Number(tagIds[0]));
  expect((await add(ideaId, another)).body.tags).toHaveLength(10);
});

test('exactly 4 of 12 concurrent requests that add different tags to an idea with 6 tags succeed', async () => {
  const ideaId = await insertIdea(server, world);
  const tagIds = await createTags(18);
  for (const tagId of tagIds.slice(0, 6)) await add(ideaId, tagId);
  const answers = await Promise.all(tagIds.slice(6).map(tagId => add(ideaId, tagId)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
  expect(answers.filter(({ status, key }) => status === 422 && key === 'too_many_tags')).toHaveLength(8);
  expect(await stored(ideaId)).toHaveLength(10);
});

test('an idea that already has more than 10 tags shows all its tags; these tags can be removed, but no tag can be added', async () => {
  const ideaId = await insertIdea(server, world);
  const [another, ...tagIds] = await createTags(13);
  await server.sql('insert into idea_tags (idea_id, tag_id, account_id) select $1, unnest($2::bigint[]), $3', [
    ideaId,
    tagIds,
    world.accountId,
  ]);
  expect((await read(ideaId)).body.tags).toHaveLength(12);
  expect((await add(ideaId, tagIds[0])).status).toBe(200);
  expect((await remove(ideaId, Number(tagIds[0]))).body.tags).toHaveLength(11);
  expect(await add(ideaId, another)).toMatchObject({ status: 422, key: 'too_many_tags' });
  expect(await stored(ideaId)).toHaveLength(11);
});

test.each([
  ['digits', (id: number) => String(id)],
  ['digits after zeros', (id: number) => `00${id}`],
])('a request that adds a tag to an idea may send the id of the tag as a string of %s', async (_, write) => {
  const ideaId = await insertIdea(server, world);
  const answer = await add(ideaId, write(billing));
  expect(answer).toMatchObject({ status: 200, body: { tags: [{ id: billing }] } });
  expect(await stored(ideaId)).toEqual([{ tag_id: billing, account_id: world.accountId }]);
  expect(await add(ideaId, '999999999')).toMatchObject({ status: 422, key: 'invalid_tag' });
});

test("concurrent requests that add and remove the same tag of an idea all succeed, and each response shows the request's own change", async () => {
  const ideaId = await insertIdea(server, world);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => (n % 2 ? add(ideaId, billing) : remove(ideaId, billing))),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(answers.map(({ body }) => body.tags.length)).toEqual(answers.map((_, n) => n % 2));
});

test('the tags of a pending, rejected, merged or missing idea cannot be changed', async () => {
  const pending = await insertIdea(server, world, { moderationState: 'pending' });
  const rejected = await insertIdea(server, world, { moderationState: 'rejected' });
  const merged = await insertIdea(server, world);
  await add(merged, billing);
  const targetId = await insertIdea(server, world);
  await request(server, `POST /api/v1/ideas/${merged}/merge`, { token, json: { target_id: targetId } });
  const before = await snapshot(server);
  for (const [ideaId, status, key] of [
    [pending, 422, 'idea_not_published'],
    [merged, 422, 'idea_already_merged'],
    [rejected, 404, 'not_found'],
    [999_999_999, 404, 'not_found'],
  ] as const) {
    for (const answer of [await add(ideaId, billing), await add(ideaId, 999_999_999), await remove(ideaId, billing)]) {
      expect([answer.status, answer.key]).toEqual([status, key]);
    }
  }
  expect(await snapshot(server)).toEqual(before);
});

test('a token with the write grant cannot add or remove the tags of an idea', async () => {
  const ideaId = await insertIdea(server, world);
  await add(ideaId, billing);
  const writer = await issueToken(server, world, 'write');
  for (const answer of [await add(ideaId, access, writer.token), await remove(ideaId, billing, writer.token)]) {
    expect([answer.status, answer.key]).toEqual([403, 'insufficient_scope']);
  }
  expect(await stored(ideaId)).toEqual([{ tag_id: billing, account_id: world.accountId }]);
});
