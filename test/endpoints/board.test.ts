import { expect, test } from 'vitest';
import { createBoard, createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const server = await startServerForFile();
const world = await createWorld(server, { name: 'Web app' });
const { token } = await issueToken(server, world, 'read');

const get = (options: { token?: string; query?: string } = {}) =>
  request(server, `GET /api/v1/board${options.query ?? ''}`, { token: options.token ?? token });

test('the response for a new board has its settings, the six default statuses in order, and no tags', async () => {
  const { status, body } = await get();
  expect(status).toBe(200);
  expect(body.board).toEqual({
    id: world.boardId,
    slug: world.boardSlug,
    name: 'Web app',
    description: '',
    is_frozen: false,
    pre_moderation: false,
    submissions_open_at: null,
    submissions_close_at: null,
    voting_open_at: null,
    voting_close_at: null,
  });
  expect(body.statuses.map(({ key, category }: { key: string; category: string }) => [key, category])).toEqual([
    ['open', 'inbox'],
    ['planned', 'planned'],
    ['in_progress', 'active'],
    ['done', 'completed'],
    ['declined', 'declined'],
    ['archived', 'archived'],
  ]);
  for (const status of body.statuses) {
    expect(status).toMatchObject({ is_hidden: false, allow_votes: true, allow_comments: true });
  }
  expect(body.tags).toEqual([]);
});

test("after a change of a board's settings, the next request returns the new values, with times in UTC with milliseconds", async () => {
  const { id, slug } = await createBoard(server, world.accountId);
  const own = await issueToken(server, world, { [id]: 'read' });
  await server.sql(
    `update boards set name = 'Ünïcode ✓', description = E'Two\\nlines', is_frozen = true, pre_moderation = true,
      submissions_open_at = '2026-03-14 09:26:53.589+05:30', submissions_close_at = '2027-01-01',
      voting_open_at = '2026-01-01 00:00:00+00', voting_close_at = '2026-12-31 23:59:59.999-11'
    where id = $1`,
    [id],
  );
  expect((await get({ token: own.token })).body.board).toEqual({
    id,
    slug,
    name: 'Ünïcode ✓',
    description: 'Two\nlines',
    is_frozen: true,
    pre_moderation: true,
    submissions_open_at: '2026-03-14T03:56:53.589Z',
    submissions_close_at: '2027-01-01T00:00:00.000Z',
    voting_open_at: '2026-01-01T00:00:00.000Z',
    voting_close_at: '2027-01-01T10:59:59.999Z',
  });
});

test('the response for a board has its custom statuses in their configured order, each saying whether it is hidden and allows votes and comments', async () => {
  const statuses = [
    { key: 'new', category: 'inbox', label: 'New here' },
    { key: 'spam', category: 'declined', label: 'Spam', isHidden: true, allowVotes: false, allowComments: false },
    { key: 'shipped-2', category: 'completed', label: 'Shipped', allowVotes: false },
    { key: 'talk', category: 'inbox', label: 'Talk', allowComments: true },
  ] as const;
  const { id } = await createBoard(server, world.accountId, { statuses: [...statuses] });
  const own = await issueToken(server, world, { [id]: 'read' });
  const { body } = await get({ token: own.token });
  expect(body.statuses).toEqual(
    statuses.map(status => ({
      key: status.key,
      category: status.category,
      label: status.label,
      is_hidden: 'isHidden' in status,
      allow_votes: !('allowVotes' in status),
      allow_comments: !('allowComments' in status && !status.allowComments),
    })),
  );
  await server.sql(`update statuses set position = 0 where board_id = $1 and key = 'talk'`, [id]);
  await server.sql(`update statuses set position = 1 where board_id = $1 and key = 'new'`, [id]);
  const moved = await get({ token: own.token });
  expect(moved.body.statuses.slice(0, 1)).toMatchObject([{ key: 'talk' }]);
});

test('the response for a board has its tags sorted by name, ignoring case, each with an id and a color', async () => {
  const ids: Record<string, number> = {};
  for (const name of ['mobile', 'Billing', 'API', 'accounts']) {
    ids[name] = await createTag(server, world.accountId, world.boardId, name);
  }
  const { body } = await get();
  expect(body.tags).toEqual(
    ['accounts', 'API', 'Billing', 'mobile'].map(name => ({ id: ids[name], name, color: '#0f766e' })),
  );
});

test('the response for a board has no data of another board', async () => {
  const other = await createWorld(server, { statuses: [{ key: 'elsewhere', category: 'inbox', label: 'Elsewhere' }] });
  await createTag(server, other.accountId, other.boardId, 'Elsewhere');
  await insertIdea(server, other, { status: 'elsewhere' });
  expect((await get()).text.toLowerCase()).not.toContain('elsewhere');
});

test('a token can read a board that is frozen and has closed submission and voting windows', async () => {
  const { id } = await createBoard(server, world.accountId, {
    isFrozen: true,
    submissionsCloseAt: new Date(0),
    votingCloseAt: new Date(0),
  });
  const own = await issueToken(server, world, { [id]: 'read' });
  expect(await get({ token: own.token })).toMatchObject({ status: 200, body: { board: { is_frozen: true } } });
});

test('a request for the board with an unknown query parameter is rejected, and the error says that the problem is in the query', async () => {
  const answer = await get({ query: '?bord=web' });
  expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
  expect(answer.body.error.issues).toMatchObject([{ path: ['query'], code: 'unrecognized_keys' }]);
});
