import { afterEach, expect, test } from 'vitest';
import { createBoard, createWorld, insertIdea, issueToken, setUpdatedAt } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

/** The custom statuses of a board. Two of the statuses have the same category. */
const statuses = [
  { key: 'new', category: 'inbox', label: 'Fresh in' },
  { key: 'next', category: 'planned', label: 'Next up' },
  { key: 'next-year', category: 'planned', label: 'Next year' },
  { key: 'doing_1', category: 'active', label: 'In the works' },
  { key: 'shipped', category: 'completed', label: 'Shipped', allowVotes: false },
  { key: 'no', category: 'declined', label: 'Not for us' },
  { key: 'attic', category: 'archived', label: 'Attic', isHidden: true },
] as const;

const statusOfKey = {
  new: 'open',
  next: 'planned',
  'next-year': 'planned',
  doing_1: 'in_progress',
  shipped: 'done',
  no: 'declined',
  attic: 'archived',
} as const;

const server = await startServerForFile();
const world = await createWorld(server, { statuses: [...statuses] });
const { token } = await issueToken(server, world, 'moderate');
afterEach(() => expectInvariants(server));

const setStatus = (ideaId: number, status: unknown, by = token) =>
  request(server, `POST /api/v1/ideas/${ideaId}/status`, { token: by, json: { status } });
const read = (ideaId: number) => request(server, `GET /api/v1/ideas/${ideaId}`, { token });

test.each(statuses)(
  'an idea can be set to the custom status $key, and the response shows the category and the label of this status',
  async ({ key, category, label }) => {
    const ideaId = await insertIdea(server, world, { status: key === 'new' ? 'no' : 'new' });
    const answer = await setStatus(ideaId, key);
    expect(answer.status).toBe(200);
    const expected = {
      id: ideaId,
      status: statusOfKey[key],
      status_key: key,
      status_category: category,
      status_label: label,
    };
    expect(answer.body).toMatchObject(expected);
    expect((await read(ideaId)).body).toEqual(answer.body);
    const rows = await server.sql(
      'select s.key from ideas i join statuses s on s.id = i.status_id and s.board_id = i.board_id where i.id = $1',
      [ideaId],
    );
    expect(rows).toEqual([{ key }]);
  },
);

test('the stored event of a status change contains the idea with the new status', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  const { body: idea } = await setStatus(ideaId, 'next');
  const events = await server.sql('select type, body from events where idea_id = $1', [ideaId]);
  const { status_key, status_label, updated_at } = idea;
  const changes = [{ field: 'status_key', from: 'new', to: 'next' }];
  expect(events).toMatchObject([
    { type: 'idea.status_changed', body: { data: { idea: { status_key, status_label, updated_at }, changes } } },
  ]);
});

test.each([
  'open',
  'planned',
  'NEW',
  'new ',
  '',
  'Fresh in',
  'next%',
  'no\u0301',
  'x'.repeat(50),
  'x'.repeat(51),
  'x'.repeat(5_000),
  'new\0',
  '\ud800',
])('the status key %j, which the board does not have, is rejected and changes nothing', async key => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  const before = await snapshot(server);
  const answer = await setStatus(ideaId, key);
  expect([answer.status, answer.key]).toEqual([422, 'invalid_status']);
  expect(await snapshot(server)).toEqual(before);
});

test('an idea cannot be set to a status that only another board of the account has', async () => {
  await createBoard(server, world.accountId, {
    statuses: [{ key: 'elsewhere', category: 'inbox', label: 'Elsewhere' }],
  });
  const ideaId = await insertIdea(server, world, { status: 'new' });
  const answer = await setStatus(ideaId, 'elsewhere');
  expect([answer.status, answer.key]).toEqual([422, 'invalid_status']);
});

test('a status change moves the time `updated_at` of the idea forward, and setting the same status again changes nothing', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new', createdAt: new Date('2026-01-01T00:00:00Z') });
  await setUpdatedAt(server, ideaId, '2026-01-01T00:00:00Z');
  const first = await setStatus(ideaId, 'next');
  expect(Date.parse(first.body.updated_at)).toBeGreaterThan(Date.parse('2026-01-01T00:00:00Z'));

  await setUpdatedAt(server, ideaId, '2026-02-02T00:00:00Z');
  const before = await snapshot(server);
  const again = await setStatus(ideaId, 'next');
  expect(again.status).toBe(200);
  expect(again.body).toEqual({ ...first.body, updated_at: '2026-02-02T00:00:00.000Z' });
  expect(await snapshot(server)).toEqual(before);
});

test('an idea can change from any status of its board to any other', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  for (const { key: from } of statuses) {
    for (const { key: to } of statuses) {
      await setStatus(ideaId, from);
      expect((await setStatus(ideaId, to)).body.status_key).toBe(to);
    }
  }
});

test('after an idea moves to a status that is closed for votes, new votes are rejected and the existing votes are kept', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  const vote = (value: string) => request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value } });
  expect((await vote('up')).status).toBe(200);
  await setStatus(ideaId, 'shipped');
  for (const value of ['down', 'none', 'up']) {
    const refused = await vote(value);
    expect([refused.status, refused.key]).toEqual([423, 'status_votes_closed']);
  }
  expect((await read(ideaId)).body).toMatchObject({ my_vote: 'up', up_count: 1 });
  await setStatus(ideaId, 'doing_1');
  expect((await vote('down')).body).toEqual({ score: -1, my_vote: 'down', up_count: 0, down_count: 1 });
});

test('a published idea in a hidden status appears only in API lists that filter by this status or by its category', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  await setStatus(ideaId, 'attic');
  const listed = async (query: string) => {
    const { body } = await request(server, `GET /api/v1/ideas?per_page=100${query}`, { token });
    return body.data.some(({ id }: { id: number }) => id === ideaId);
  };
  expect(await listed('')).toBe(false);
  expect(await listed('&status=archived')).toBe(true);
  expect(await listed('&status_key=attic')).toBe(true);
  expect((await read(ideaId)).status).toBe(200);
});

test('if several requests change the status of an idea at the same time, each response shows the status that its own request has set', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  const keys = Array.from({ length: 14 }, (_, n) => statuses[n % statuses.length]?.key ?? 'new');
  const answers = await Promise.all(keys.map(key => setStatus(ideaId, key)));
  expect(answers.map(({ body }) => body.status_key)).toEqual(keys);
  expect(keys).toContain((await read(ideaId)).body.status_key);
});

test('the status of a pending, rejected, merged or missing idea cannot be changed', async () => {
  const pending = await insertIdea(server, world, { status: 'new', moderationState: 'pending' });
  const rejected = await insertIdea(server, world, { status: 'new', moderationState: 'rejected' });
  const merged = await insertIdea(server, world, { status: 'new' });
  const targetId = await insertIdea(server, world, { status: 'new' });
  await request(server, `POST /api/v1/ideas/${merged}/merge`, { token, json: { target_id: targetId } });
  const before = await snapshot(server);
  for (const [ideaId, status, key] of [
    [pending, 422, 'idea_not_published'],
    [merged, 422, 'idea_already_merged'],
    [rejected, 404, 'not_found'],
    [999_999_999, 404, 'not_found'],
  ] as const) {
    for (const wanted of ['next', 'unknown']) {
      const answer = await setStatus(ideaId, wanted);
      expect([answer.status, answer.key]).toEqual([status, key]);
    }
  }
  expect(await snapshot(server)).toEqual(before);
});

test('a token with the write grant cannot change the status of an idea', async () => {
  const ideaId = await insertIdea(server, world, { status: 'new' });
  const writer = await issueToken(server, world, 'write');
  const answer = await setStatus(ideaId, 'next', writer.token);
  expect([answer.status, answer.key]).toEqual([403, 'insufficient_scope']);
  expect((await read(ideaId)).body.status_key).toBe('new');
});

test('the fields `status` and `status_key` of an idea in a default status both contain the key of this status', async () => {
  const board = await createWorld(server);
  const moderator = await issueToken(server, board, 'moderate');
  const ideaId = await insertIdea(server, board);
  for (const key of ['planned', 'in_progress', 'done', 'declined', 'archived', 'open']) {
    expect((await setStatus(ideaId, key, moderator.token)).body).toMatchObject({ status: key, status_key: key });
  }
});
