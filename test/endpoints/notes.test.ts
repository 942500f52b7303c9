import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertComment, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { runJobs } from '../helpers/jobs.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { addWebhook } from '../helpers/webhooks.ts';

const now = '2026-03-14T09:26:53.589Z';
const clock = testClock(now);

let server: TestServer;
let world: World;
let ideaId: number;
let token: string;

beforeAll(async () => {
  server = await startServer({ clock, environment: { RATE_LIMIT_WRITE: '1000' } });
});
beforeEach(async () => {
  clock.set(now);
  server.auditLines.length = 0;
  world = await createWorld(server);
  ideaId = await insertIdea(server, world);
  ({ token } = await issueToken(server, world, 'moderate'));
});
afterAll(() => server.close());

const path = (noteId?: number | string, id: number | string = ideaId) =>
  `/api/v1/ideas/${id}/notes${noteId === undefined ? '' : `/${noteId}`}`;
const list = (query = '', id = ideaId) => request(server, `GET ${path(undefined, id)}${query}`, { token });
const add = (body: string, { id = ideaId, by = token, headers = {} } = {}) =>
  request(server, `POST ${path(undefined, id)}`, { token: by, json: { body }, headers });
const edit = (noteId: number, json: object, by = token) =>
  request(server, `PATCH ${path(noteId)}`, { token: by, json });
const remove = (noteId: number, id = ideaId) => request(server, `DELETE ${path(noteId, id)}`, { token });
const stored = () =>
  server.sql('select id, idea_id, author_id, body from idea_notes where account_id = $1 order by id', [
    world.accountId,
  ]);

test('a note has the user who issued the token as its author, and the list of notes shows the oldest note first', async () => {
  const colleague = await createMember(server, world.accountId, 'moderator', 'Jun Park');
  const { token: other } = await issueToken(server, world, 'moderate', { issuerId: colleague });
  const first = await add('  Three customers asked.\nEstimate it. ');
  const written = { created_at: now, updated_at: now };
  expect([first.status, first.body]).toEqual([
    201,
    {
      id: expect.any(Number),
      idea_id: ideaId,
      body: 'Three customers asked.\nEstimate it.',
      author: { id: world.ownerId, name: 'The owner' },
      ...written,
    },
  ]);
  const second = await add('Four by now.', { by: other });
  expect(second.body.author).toEqual({ id: colleague, name: 'Jun Park' });
  expect((await list()).body).toEqual({
    data: [first.body, second.body],
    page: 1,
    per_page: 20,
    has_more: false,
    next_cursor: null,
  });
  const rest = await list(`?per_page=1&cursor=${(await list('?per_page=1')).body.next_cursor}`);
  expect(rest.body.data).toEqual([second.body]);
  expect(await stored()).toMatchObject([
    { id: first.body.id, idea_id: ideaId, author_id: world.ownerId },
    { id: second.body.id, idea_id: ideaId, author_id: colleague },
  ]);
});

test('a note changes nothing else: it emits no event, notifies nobody, and is in no other response', async () => {
  await addWebhook(server, world, { url: 'https://hooks.example.com/a' });
  await insertComment(server, world, ideaId);
  const { token: reader } = await issueToken(server, world, 'write');
  const member = await createMember(server, world.accountId, 'member', 'Ada Osei');
  await server.sql('insert into followers (account_id, idea_id, user_id) values ($1, $2, $3)', [
    world.accountId,
    ideaId,
    member,
  ]);
  const readAll = async (by: string) => {
    const lines = ['', '?expand=comments', '/comments'].map(rest => `GET /api/v1/ideas/${ideaId}${rest}`);
    const answers = [];
    for (const line of [...lines, 'GET /api/v1/ideas', 'GET /api/v1/board', 'GET /api/v1/events']) {
      const { status, body } = await request(server, line, { token: by });
      answers.push([line, status, { ...body, next_cursor: null }]);
    }
    return answers;
  };
  const { idea_notes: _, ...before } = await snapshot(server);
  const seen = [await readAll(token), await readAll(reader)];
  await add('As @Ada Osei said: a secret customer.');
  await runJobs(server);
  const { idea_notes: __, ...after } = await snapshot(server);
  expect(after).toEqual(before);
  expect([await readAll(token), await readAll(reader)]).toEqual(seen);
  expect(JSON.stringify(seen)).not.toContain('secret');
});

describe('tokens without the effective grant moderate', () => {
  test.each(['read', 'write'] as const)('a token with the grant %s can neither read nor change notes', async grant => {
    const { body } = await add('For moderators.');
    const { token: by } = await issueToken(server, world, grant);
    const before = await snapshot(server);
    const answers = [
      await request(server, `GET ${path()}`, { token: by }),
      await add('Mine.', { by }),
      await edit(body.id, { body: 'Mine.' }, by),
      await request(server, `DELETE ${path(body.id)}`, { token: by }),
    ];
    expect(answers.map(({ status, key }) => [status, key])).toEqual(Array(4).fill([403, 'insufficient_scope']));
    expect(await snapshot(server)).toEqual(before);
  });

  test('a token whose issuer is no longer a moderator cannot read notes', async () => {
    const issuerId = await createMember(server, world.accountId, 'moderator');
    const { token: by } = await issueToken(server, world, 'moderate', { issuerId });
    expect((await add('Before.', { by })).status).toBe(201);
    await server.sql(`update memberships set role = 'member' where user_id = $1`, [issuerId]);
    const { status, key } = await request(server, `GET ${path()}`, { token: by });
    expect([status, key]).toEqual([403, 'token_issuer_not_moderator']);
  });
});

describe('the ideas that can have notes', () => {
  test('pending and merged ideas can have notes, and a merge and its reversal leave each note with its idea', async () => {
    const pending = await insertIdea(server, world, { moderationState: 'pending' });
    const target = await insertIdea(server, world);
    expect((await add('Wait for legal.', { id: pending })).status).toBe(201);
    await add('Of the source.');
    await request(server, `POST /api/v1/ideas/${ideaId}/merge`, { token, json: { target_id: target } });
    expect((await add('Of the merged source.')).status).toBe(201);
    const bodies = async (id: number) => (await list('', id)).body.data.map(({ body }: { body: string }) => body);
    expect([await bodies(ideaId), await bodies(target)]).toEqual([['Of the source.', 'Of the merged source.'], []]);
    await request(server, `POST /api/v1/ideas/${ideaId}/unmerge`, { token });
    expect([await bodies(pending), (await bodies(ideaId)).length]).toEqual([['Wait for legal.'], 2]);
  });

  test('missing, rejected, deleted and foreign ideas have no notes: each request gets 404 and writes nothing', async () => {
    const rejected = await insertIdea(server, world, { moderationState: 'rejected' });
    const deleted = await insertIdea(server, world);
    await add('It goes with the idea.', { id: deleted });
    await request(server, `DELETE /api/v1/ideas/${deleted}`, { token });
    const foreign = await insertIdea(server, await createWorld(server));
    const { body: note } = await add('Here.');
    const before = await snapshot(server);
    for (const id of [999_999_999, rejected, deleted, foreign]) {
      const answers = [
        await list('', id),
        await add('There.', { id }),
        await request(server, `PATCH ${path(note.id, id)}`, { token, json: { body: 'There.' } }),
        await remove(note.id, id),
      ];
      expect([id, answers.map(({ key }) => key)]).toEqual([id, Array(4).fill('not_found')]);
    }
    expect(await snapshot(server)).toEqual(before);
  });

  test('when the server removes a deleted idea, its notes are removed too', async () => {
    await add('It goes with the idea.');
    await server.sql('delete from ideas where id = $1', [ideaId]);
    expect(await stored()).toEqual([]);
  });
});

describe('the edit of a note', () => {
  test('a moderator edits the note of another moderator: the note keeps its author and its time, and updated_at increases', async () => {
    const { body: note } = await add('Three customers.');
    const colleague = await createMember(server, world.accountId, 'moderator', 'Jun Park');
    const { token: other } = await issueToken(server, world, 'moderate', { issuerId: colleague });
    const first = await edit(note.id, { body: 'Four customers.' }, other);
    const second = await edit(note.id, { body: 'Five customers.', if_updated_at: first.body.updated_at }, other);
    expect(first.body).toEqual({ ...note, body: 'Four customers.', updated_at: '2026-03-14T09:26:53.590Z' });
    expect(second.body).toEqual({ ...note, body: 'Five customers.', updated_at: '2026-03-14T09:26:53.591Z' });
    expect((await list()).body.data).toEqual([second.body]);
  });

  test('an edit with the same text succeeds and changes nothing, even if if_updated_at is old', async () => {
    const { body: note } = await add('Three customers.');
    const before = await snapshot(server);
    const answer = await edit(note.id, { body: ' Three customers. ', if_updated_at: '2020-01-01T00:00:00Z' });
    expect([answer.status, answer.body]).toEqual([200, note]);
    expect(await snapshot(server)).toEqual(before);
  });

  test('if several edits with the same if_updated_at run at the same time, one succeeds and the others get 409 note_changed', async () => {
    const { body: note } = await add('Three customers.');
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map(n => edit(note.id, { body: `Edit ${n}`, if_updated_at: note.updated_at })),
    );
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ status, key }) => status === 409 && key === 'note_changed')).toHaveLength(4);
    expect(await stored()).toMatchObject([{ body: winners[0]?.body.body }]);
  });

  test('a note of another idea gets 404, and the note does not change', async () => {
    const other = await insertIdea(server, world);
    const { body: note } = await add('Elsewhere.', { id: other });
    const before = await snapshot(server);
    expect((await edit(note.id, { body: 'Here.' })).key).toBe('not_found');
    expect((await remove(note.id)).key).toBe('not_found');
    expect(await snapshot(server)).toEqual(before);
  });
});

test('a moderator deletes a note of any author for good, a second deletion gets 404, and the audit log records the deletion without the text', async () => {
  const colleague = await createMember(server, world.accountId, 'moderator');
  const { token: other } = await issueToken(server, world, 'moderate', { issuerId: colleague });
  const { body: note } = await add('A customer name.', { by: other });
  await add('It stays.');
  const answer = await remove(note.id);
  expect([answer.status, answer.body]).toEqual([200, { id: note.id, deleted: true }]);
  expect((await remove(note.id)).key).toBe('not_found');
  expect(await stored()).toMatchObject([{ body: 'It stays.' }]);
  expect(readAudit(server.auditLines).filter(({ event }) => event === 'note.deleted')).toMatchObject([
    { by: 'token', by_user_id: world.ownerId, idea_id: ideaId, note_id: note.id, user_id: colleague },
  ]);
  expect(server.auditLines.join()).not.toContain('customer');
});

describe('a repeated request with an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'a-note' };

  test('parallel requests with one Idempotency-Key add one note, and a repetition returns the same note', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => add('Once.', { headers })));
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(0);
    const repeated = await add('Once.', { headers });
    expect(await stored()).toMatchObject([{ id: repeated.body.id, body: 'Once.' }]);
  });

  test('after an edit or a deletion of the note, the repetition returns the new text or (deleted), and a comment with the same id keeps its text', async () => {
    // Gives the comment and the note the same id.
    const next = (table: string) => `setval(pg_get_serial_sequence('${table}', 'id'), 7000000, false)`;
    await server.sql(`select ${next('comments')}, ${next('idea_notes')}`);
    const comment = () =>
      request(server, `POST /api/v1/ideas/${ideaId}/comments`, { token, json: { body: 'For all.' }, headers });
    const { body: note } = await add('A customer name.', { headers });
    expect((await comment()).body).toMatchObject({ id: note.id, idea_id: note.idea_id });
    await edit(note.id, { body: 'A large customer.' });
    expect((await add('A customer name.', { headers })).body.body).toBe('A large customer.');
    await remove(note.id);
    expect((await add('A customer name.', { headers })).body.body).toBe('(deleted)');
    expect((await comment()).body.body).toBe('For all.');
    await request(server, `PATCH /api/v1/ideas/${ideaId}/comments/${note.id}`, { token, json: { body: 'For some.' } });
    expect((await comment()).body.body).toBe('For some.');
    expect((await add('A customer name.', { headers })).body.body).toBe('(deleted)');
  });
});
