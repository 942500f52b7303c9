import { expect, test } from 'vitest';
import { errorDetails } from '../../contract/errors.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const server = await startServerForFile({
  clock: testClock('2026-03-14T09:00:10.000Z'),
  environment: { RATE_LIMIT_READ: '1000', RATE_LIMIT_WRITE: '1000', RATE_LIMIT_IP: '100000' },
});
const world = await createWorld(server);
const ideaId = await insertIdea(server, world);
const { token } = await issueToken(server, world, 'moderate');

/** Fails unless the answer has the error with this key and these details, in the form that the contract declares. */
function expectDetails<K extends keyof typeof errorDetails>(answer: Answer, key: K, details: object) {
  expect([answer.key, answer.body.error.details]).toEqual([key, details]);
  expect(errorDetails[key].strict().safeParse(details).error).toBeUndefined();
}

test("if a request by a token with several boards names no board or a wrong board, the error lists the token's boards with their grants", async () => {
  const second = await createBoard(server, world.accountId, { name: 'Second board' });
  const both = await issueToken(server, world, { [world.boardId]: 'write', [second.id]: 'read' });
  const boards = [
    { slug: world.boardSlug, name: 'A board', grant: 'write' },
    { slug: second.slug, name: 'Second board', grant: 'read' },
  ].sort((a, b) => (a.slug < b.slug ? -1 : 1));
  expectDetails(await request(server, 'GET /api/v1/board', both), 'board_required', { boards });
  expectDetails(await request(server, 'GET /api/v1/board?board=none', both), 'board_not_granted', { boards });
});

test("the details and the message of the error for an insufficient grant name the required grant and the token's grant", async () => {
  const reader = await issueToken(server, world, 'read');
  const answer = await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { ...reader, json: { value: 'up' } });
  expectDetails(answer, 'insufficient_scope', { board: world.boardSlug, needed: 'write', held: 'read' });
  expect(answer.body.error.message).toBe(
    `This needs the write grant on the board ${world.boardSlug}. The token has only the read grant there.`,
  );
  const queue = await request(server, 'GET /api/v1/ideas?moderation_state=pending', reader);
  expectDetails(queue, 'insufficient_scope', { board: world.boardSlug, needed: 'moderate', held: 'read' });
});

test("a request to set an unknown status is refused, and the error lists the board's statuses in the board's order", async () => {
  const answer = await request(server, `POST /api/v1/ideas/${ideaId}/status`, { token, json: { status: 'shipped' } });
  const statuses = ['open', 'planned', 'in_progress', 'done', 'declined', 'archived'];
  expectDetails(answer, 'invalid_status', { statuses });
  const stored = `select s.key from ideas i join statuses s on s.id = i.status_id where i.id = $1`;
  expect(await server.sql(stored, [ideaId])).toEqual([{ key: 'open' }]);
});

test("a request to add a tag of another board is refused, and the error lists the tags of the idea's board with their ids", async () => {
  const other = await createBoard(server, world.accountId);
  const foreign = await createTag(server, world.accountId, other.id, 'Foreign');
  const tags = [
    { id: await createTag(server, world.accountId, world.boardId, 'alpha'), name: 'alpha', color: '#0f766e' },
    { id: await createTag(server, world.accountId, world.boardId, 'Beta'), name: 'Beta', color: '#0f766e' },
  ];
  const answer = await request(server, `POST /api/v1/ideas/${ideaId}/tags`, { token, json: { tag_id: foreign } });
  expectDetails(answer, 'invalid_tag', { tags });
  expect(await server.sql('select from idea_tags where idea_id = $1', [ideaId])).toEqual([]);
});

test("the error for a user's second comment in a row contains the id and the time of this user's first comment", async () => {
  const comment = (body: string) => request(server, `POST /api/v1/ideas/${ideaId}/comments`, { token, json: { body } });
  const first = await comment('First.');
  const { id, created_at } = first.body;
  const second = await comment('Second.');
  expectDetails(second, 'consecutive_comment', { last_comment: { id, created_at } });
  expect(second.body.error.message).toContain('can comment again after another user has commented');
  expect(await server.sql('select body from comments where idea_id = $1', [ideaId])).toEqual([{ body: 'First.' }]);
});

test("the error for an exceeded rate limit contains the limit's name, the allowed number of requests, the time window and the seconds to wait", async () => {
  const limited = await issueToken(server, world, 'read');
  await server.sql(
    `insert into rate_limits values ('apitoken:read:${limited.id}', '2026-03-14T09:00Z', '2026-03-14T09:01Z', 1000)`,
  );
  const answer = await request(server, 'GET /api/v1/board', limited);
  expectDetails(answer, 'rate_limited', {
    limit: 'apitoken:read',
    allowed: 1000,
    window_seconds: 60,
    retry_after: 50,
  });
  expect(answer.body.error.message).toBe(
    'The limit of 1000 reads per minute for this token is exceeded. Try again in 50 seconds.',
  );
});

test('the error for unknown fields lists the known fields and shortens long names of unknown fields', async () => {
  const create = (json: object) => request(server, 'POST /api/v1/ideas', { token, json });
  const { body } = await create({ title: 'A', body: 'B', colour: 'blue' });
  expect(body.error.issues).toEqual([
    {
      path: ['body'],
      code: 'unrecognized_keys',
      message: 'Unknown: "colour". The fields are title, body',
      known: ['title', 'body'],
    },
  ]);
  const inQuery = await request(server, 'GET /api/v1/board?slug=web-app', { token });
  expect(inQuery.body.error.issues).toMatchObject([{ path: ['query'], known: ['board'] }]);
  const names = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`${n}${'x'.repeat(500)}`, 1]));
  const many = await create({ title: 'A', body: 'B', ...names });
  expect(many.body.error.issues[0].message.length).toBeLessThan(400);
  expect(await server.sql(`select from ideas where title = 'A'`)).toEqual([]);
});

test('the error not_found has no details', async () => {
  const answer = await request(server, 'GET /api/v1/ideas/999999999', { token });
  expect(answer.body.error).toEqual({ key: 'not_found', message: expect.any(String) });
});
