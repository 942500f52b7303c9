import { afterAll, beforeEach, expect, test } from 'vitest';
import { listQueries } from '../../server/database/query.ts';
import { connect } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';

let world: World;
let token: string;

const server = await startServer({ environment: { RATE_LIMIT_READ: '1000', RATE_LIMIT_IP: '100000' } });
beforeEach(async () => {
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'write'));
});
afterAll(async () => {
  await expectInvariants(server);
  await server.close();
});

const put = (title: string, more: Parameters<typeof insertIdea>[2] = {}) =>
  insertIdea(server, world, { title, body: 'We need it.', ...more });
const find = async (query: Record<string, string>) => {
  const answer = await request(server, `GET /api/v1/ideas/similar?${new URLSearchParams(query)}`, { token });
  return { ...answer, ids: answer.body.data?.map(({ id }: { id: number }) => id) as number[] };
};
const create = (title: string, { onSimilar = 'reject', ...headers }: Record<string, string> = {}) =>
  request(server, `POST /api/v1/ideas?on_similar=${onSimilar}`, { token, headers, json: { title, body: 'Please.' } });
const countIdeas = async () => (await server.sql('select from ideas where board_id = $1', [world.boardId])).length;

test('a search for similar ideas ignores typing errors, accents and the order of words, and returns the most similar idea first', async () => {
  const same = await put('Calendar with a dark theme');
  const other = await put('Print the calendar');
  await put('Faster search');
  const { status, body, ids } = await find({ title: 'Drak thème calendar' });
  expect([status, ids]).toEqual([200, [same, other]]);
  const [first, second] = body.data.map(({ similarity }: { similarity: number }) => similarity);
  expect(first).toBeGreaterThan(second);
  expect(second).toBeGreaterThanOrEqual(0.2);
  expect((await find({ title: 'Calendar with a dark theme' })).body.data[0]).toMatchObject({ id: same, similarity: 1 });
});

test('a search for similar ideas looks for typing errors in a word of the title only if fewer than 60 ideas contain this word', async () => {
  for (let count = 0; count < 59; count++) await put('Calendar');
  const mistyped = await put('Claendar');
  // The database function returns up to 60 ideas, and the API only five of them.
  const finds = async () =>
    (
      await server.sql<{ idea_id: number }>(`select idea_id from similar_ideas($1, $2, 'Calendar', '')`, [
        world.accountId,
        world.boardId,
      ])
    ).some(({ idea_id }) => idea_id === mistyped);
  expect(await finds()).toBe(true);
  await put('Calendar');
  expect(await finds()).toBe(false);
});

test('a search for similar ideas also compares the words of bodies', async () => {
  const id = await put('Monthly report', { body: 'Copying everything into a spreadsheet takes an afternoon.' });
  const query = { title: 'Download everything', body: 'I want a spreadsheet instead of copying.' };
  expect((await find(query)).ids).toEqual([id]);
});

test('on a board with a configured language, a search for similar ideas also finds other forms of a word', async () => {
  const id = await put('Stories of our customers');
  expect((await find({ title: 'A story' })).ids).toEqual([]);
  await server.sql(`update boards set language = 'english' where id = $1`, [world.boardId]);
  expect((await find({ title: 'A story' })).ids).toEqual([id]);
});

test("a board's search for similar ideas omits pending ideas, ideas in hidden statuses and other boards' ideas, and replaces merged ideas by their targets", async () => {
  await put('Dark calendar', { moderationState: 'pending' });
  const hidden = await put('Dark calendar, hidden');
  await server.sql(
    `update ideas set status_id = (select id from statuses where board_id = $2 and key = 'archived') where id = $1`,
    [hidden, world.boardId],
  );
  await server.sql(`update statuses set is_hidden = true where board_id = $1 and key = 'archived'`, [world.boardId]);
  const target = await put('Night theme');
  const middle = await put('Evening theme');
  const merged = await put('Dark calendar, merged');
  await server.sql('update ideas set merged_into_id = $2 where id = $1', [middle, target]);
  await server.sql('update ideas set merged_into_id = $2 where id = $1', [merged, middle]);
  await insertIdea(server, await createWorld(server), { title: 'Dark calendar of others' });
  expect((await find({ title: 'Dark calendar' })).ids).toEqual([target]);
  await server.sql('update ideas set merged_into_id = null where board_id = $1', [world.boardId]);
});

test('a search for ideas similar to an existing idea does not return the existing idea', async () => {
  const id = await put('Dark calendar');
  const other = await put('Calendar in dark colours');
  expect((await find({ of: String(id) })).ids).toEqual([other]);
  expect((await find({ of: '999999999' })).key).toBe('not_found');
  const foreign = await insertIdea(server, await createWorld(server), { title: 'Dark calendar' });
  expect((await find({ of: String(foreign) })).key).toBe('not_found');
});

test('a search for similar ideas requires either a title or an id, and accepts a body of at most 1,000 characters only with a title', async () => {
  const id = String(await put('Dark calendar'));
  for (const query of [
    {},
    { title: '  ' },
    { title: 'Dark', of: id },
    { of: id, body: 'x' },
    { title: 'Dark', body: 'x'.repeat(1_001) },
    { body: 'x' },
  ])
    expect((await find(query as Record<string, string>)).key).toBe('validation_failed');
  for (const title of ["it's", '&|!():*', '\\', '%', "''"]) expect((await find({ title })).ids).toEqual([]);
});

test('a request with on_similar=reject does not create an idea that is similar to existing ideas, and the error lists these existing ideas', async () => {
  const id = await put('Export a board as CSV');
  const refused = await create('Exprot a board as CSV');
  expect([refused.status, refused.key]).toEqual([409, 'similar_ideas']);
  expect(refused.body.error.details.ideas).toEqual([
    {
      id,
      title: 'Export a board as CSV',
      url: expect.stringContaining(`/ideas/${id}`),
      similarity: expect.any(Number),
    },
  ]);
  expect(await countIdeas()).toBe(1);
  expect((await create('Dark calendar')).status).toBe(201);
  expect((await create('Exprot a board as CSV', { onSimilar: 'allow' })).status).toBe(201);
});

test('one of four parallel requests with the same idea and on_similar=reject creates the idea, and three are refused', async () => {
  const answers = await Promise.all(Array.from({ length: 4 }, () => create('Export a board as CSV')));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  expect(await countIdeas()).toBe(1);
});

test('a repeated request with on_similar=reject and an Idempotency-Key gets the first answer again, but after a refusal a new request can reuse the key', async () => {
  const first = await create('Export a board as CSV', { 'idempotency-key': 'a' });
  const again = await create('Export a board as CSV', { 'idempotency-key': 'a' });
  expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id]);
  expect((await create('Board export as CSV', { 'idempotency-key': 'b' })).key).toBe('similar_ideas');
  await server.sql('delete from events where idea_id = $1', [first.body.id]);
  await server.sql('delete from followers where idea_id = $1', [first.body.id]);
  await server.sql('delete from ideas where id = $1', [first.body.id]);
  expect((await create('Board export as CSV', { 'idempotency-key': 'b' })).status).toBe(201);
});

test('on a board of 10,000 ideas, the SQL query for similar ideas reads the found ideas by their ids, and no other ideas', async () => {
  const similar = listQueries().find(({ name }) => name === 'select_similar_ideas');
  if (!similar) throw new Error('The query has another name');
  const client = await connect(server.url);
  try {
    await client.query('begin');
    await client.query('set local idea_board.keeps_terms = off');
    await client.query(
      `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
      select $1, $2, $3, (select min(id) from statuses where board_id = $2), 'Idea ' || n, repeat('Please. ', 30), 'published'
      from generate_series(1, 10000) n`,
      [world.accountId, world.boardId, world.ownerId],
    );
    await client.query('analyze ideas');
    const { accountId, boardId, ownerId: voterId } = world;
    const values: Record<string, unknown> = { accountId, boardId, voterId, title: 'Idea', body: '', excerptLength: 9 };
    const { rows } = await client.query(
      `explain ${similar.text}`,
      similar.argumentNames.map(name => values[name] ?? null),
    );
    const scans = rows.map(row => row['QUERY PLAN']).filter(line => / on ideas i\b/.test(line));
    expect(scans).toEqual([expect.stringContaining('Index Scan using ideas_pkey on ideas i ')]);
  } finally {
    await client.end();
  }
});
