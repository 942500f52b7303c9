import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changeMinutes } from '../../contract/limits.ts';
import { removeTag, requireTag } from '../../server/domain/tags/board-tags.ts';
import { clearOld } from '../../server/jobs/clear-expired.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createTag, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { runJobs, waitingJobs } from '../helpers/jobs.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { addWebhook, administer, fastForward } from '../helpers/webhooks.ts';

const start = new Date('2026-03-02T09:00:00Z');
const clock = testClock(start);
let world: World;
let authorId: number;
let author: string;
let reader: string;
let stranger: string;
let moderator: string;

const environment = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', RATE_LIMIT_WRITE: '100000' };
const server = await startServerForFile({ clock, environment });
beforeEach(async () => {
  clock.set(start);
  world = await createWorld(server);
  const tokenOf = async (grant: 'read' | 'write' | 'moderate', issuerId: number) =>
    (await issueToken(server, world, grant, { issuerId })).token;
  const member = () => createMember(server, world.accountId, 'member');
  authorId = await member();
  author = await tokenOf('write', authorId);
  reader = await tokenOf('read', authorId);
  stranger = await tokenOf('write', await member());
  moderator = await tokenOf('moderate', await createMember(server, world.accountId, 'moderator'));
});
afterEach(() => expectInvariants(server));

const ask = (line: string, token: string, json?: unknown): Promise<Answer> => request(server, line, { token, json });
const outcome = ({ status, key }: Answer) => [status, key];
const idea = (id: number) => `/api/v1/ideas/${id}`;
const edit = (id: number, json: object, token = author) => ask(`PATCH ${idea(id)}`, token, json);
const remove = (id: number, token = author, query = '') => ask(`DELETE ${idea(id)}${query}`, token);
const create = async (token = author) =>
  (await ask('POST /api/v1/ideas', token, { title: 'Export as CSV', body: 'The password is hunter2.' })).body;
const comment = async (ideaId: number, body: string, token = author) =>
  (await ask(`POST ${idea(ideaId)}/comments`, token, { body })).body;
const setBoard = (assignments: string) => server.sql(`update boards set ${assignments} where id = $1`, [world.boardId]);
const eventsOf = (ideaId: number, type: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: tests access arbitrary fields of the body.
  server.sql<any>('select body, data from events where idea_id = $1 and type = $2 order by occurred_at', [
    ideaId,
    type,
  ]);
const rowOf = async (id: number) => {
  const [row] = await server.sql<{ title: string; body: string; moderation_state: string }>(
    'select title, body, moderation_state from ideas where id = $1',
    [id],
  );
  return row;
};

/**
 * Sends a request that the server must refuse with the given status and error key. Checks that no database row changes.
 */
async function expectRefusal(send: () => Promise<Answer>, status: number, key: string) {
  const before = await snapshot(server);
  expect(outcome(await send())).toEqual([status, key]);
  expect(await snapshot(server)).toEqual(before);
}

describe('the edit of an idea', () => {
  test('if a token edits an idea of its issuer, the response, the database row, the event and the search contain the new texts', async () => {
    const { id, updated_at } = await create();
    clock.set(new Date(start.getTime() + 60_000));
    const answer = await edit(id, { title: ' Export as\nExcel ', if_updated_at: updated_at });
    expect(answer).toMatchObject({
      status: 200,
      body: { id, title: 'Export as Excel', body: 'The password is hunter2.' },
    });
    expect(answer.body.updated_at).toBe('2026-03-02T09:01:00.000Z');
    expect(await rowOf(id)).toMatchObject({ title: 'Export as Excel' });
    expect((await ask('GET /api/v1/ideas?q=excel', author)).body.data).toMatchObject([{ id }]);
    expect(await eventsOf(id, 'idea.updated')).toMatchObject([
      {
        body: {
          data: {
            idea: { id, title: 'Export as Excel' },
            actor: { id: authorId },
            changes: [{ field: 'title', from: null, to: null }],
          },
        },
      },
    ]);
  });

  test('an author can edit an idea with a second token, a moderator can edit even an old idea, and other users cannot edit the idea', async () => {
    const { id } = await create();
    const { token: second } = await issueToken(server, world, 'write', { issuerId: authorId });
    expect((await edit(id, { body: 'By the second token' }, second)).status).toBe(200);
    await expectRefusal(() => edit(id, { body: 'By a stranger' }, stranger), 403, 'not_author');
    await expectRefusal(() => edit(id, { body: 'By a reader' }, reader), 403, 'insufficient_scope');
    clock.set(new Date('2026-04-01'));
    const reason = 'Personal data';
    expect((await edit(id, { body: 'By a moderator', reason }, moderator)).body.body).toBe('By a moderator');
    expect((await eventsOf(id, 'idea.updated')).map(({ body }) => body.data.reason)).toEqual([undefined, reason]);
  });

  test('if the issuer of a token with the moderate grant is no longer a moderator, the token can edit only the ideas of its issuer', async () => {
    const { id } = await create();
    const formerId = await createMember(server, world.accountId, 'member');
    const { token: former } = await issueToken(server, world, 'moderate', { issuerId: formerId });
    await expectRefusal(() => edit(id, { body: 'x' }, former), 403, 'token_issuer_not_moderator');
    await expectRefusal(() => remove(id, former), 403, 'token_issuer_not_moderator');
    const own = await create(former);
    expect((await edit(own.id, { body: 'Mine' }, former)).status).toBe(200);
  });

  test(`an author can edit an idea for ${changeMinutes} minutes, and not a millisecond longer`, async () => {
    const { id } = await create();
    clock.set(new Date(start.getTime() + changeMinutes * 60_000 - 1));
    expect((await edit(id, { title: 'In time' })).status).toBe(200);
    clock.set(new Date(start.getTime() + changeMinutes * 60_000));
    await expectRefusal(() => edit(id, { title: 'Too late' }), 422, 'change_window_closed');
    await expectRefusal(() => remove(id), 422, 'change_window_closed');
  });

  test('on a board with pre-moderation, an author can delete but not edit a published idea, and cannot edit a pending idea', async () => {
    await setBoard('pre_moderation = true');
    const pending = await create();
    await expectRefusal(() => edit(pending.id, { title: 'Spam' }), 404, 'not_found');
    await expectRefusal(() => edit(pending.id, { title: 'Better' }, moderator), 422, 'idea_not_published');
    await expectRefusal(() => remove(pending.id, moderator), 422, 'idea_not_published');
    await server.sql(`update ideas set moderation_state = 'published' where id = $1`, [pending.id]);
    await expectRefusal(() => edit(pending.id, { title: 'Spam' }), 422, 'change_window_closed');
    expect((await remove(pending.id)).status).toBe(200);
  });

  test.each([
    ['on a frozen board', 'is_frozen = true', 'board_frozen', 'board_frozen'],
    ['before the submission window opens', `submissions_open_at = '2026-03-03'`, 'submissions_not_open_yet', undefined],
    ['after the submission window closes', `submissions_close_at = '2026-03-01'`, 'submissions_closed', undefined],
  ])('an author cannot edit an idea %s', async (_when, assignment, key, forModerators) => {
    const { id } = await create();
    await setBoard(assignment);
    await expectRefusal(() => edit(id, { title: 'Changed' }), 423, key);
    if (forModerators) await expectRefusal(() => edit(id, { title: 'Changed' }, moderator), 423, forModerators);
    else expect((await edit(id, { title: 'Changed' }, moderator)).status).toBe(200);
  });

  test('a merged idea, a deleted idea and an idea of another board cannot be edited or deleted', async () => {
    const { id } = await create();
    const target = await create();
    const other = await createWorld(server);
    const foreign = await insertIdea(server, other);
    await ask(`POST ${idea(id)}/merge`, moderator, { target_id: target.id });
    for (const token of [author, moderator]) {
      await expectRefusal(() => edit(id, { title: 'x' }, token), 422, 'idea_already_merged');
      await expectRefusal(() => remove(id, token), 422, 'idea_already_merged');
      await expectRefusal(() => edit(foreign, { title: 'x' }, token), 404, 'not_found');
      await expectRefusal(() => remove(foreign, token), 404, 'not_found');
    }
  });

  test('an edit that changes nothing succeeds without an event, even with an outdated if_updated_at, so that a client can repeat an edit', async () => {
    const { id, updated_at } = await create();
    const first = await edit(id, { title: 'New', if_updated_at: updated_at });
    const before = await snapshot(server);
    const again = await edit(id, { title: 'New', if_updated_at: updated_at });
    expect(again.body).toEqual(first.body);
    expect((await edit(id, {})).body).toEqual(first.body);
    expect(await snapshot(server)).toEqual(before);
  });

  test('an edit of an idea with an outdated if_updated_at gets 409 idea_changed, even if the earlier edit was in the same millisecond', async () => {
    const { id, updated_at } = await create();
    const changed = await edit(id, { title: 'First', if_updated_at: updated_at });
    expect(Date.parse(changed.body.updated_at)).toBe(Date.parse(updated_at) + 1);
    await expectRefusal(() => edit(id, { title: 'Second', if_updated_at: updated_at }), 409, 'idea_changed');
    const withOffset = changed.body.updated_at.replace('Z', '000+00:00');
    expect((await edit(id, { title: 'Third', if_updated_at: withOffset })).status).toBe(200);
    for (const if_updated_at of ['yesterday', '2026-03-02', 1_772_442_000_000]) {
      await expectRefusal(() => edit(id, { title: 'Fourth', if_updated_at }), 422, 'validation_failed');
    }
  });

  test('if the status or the tags of an idea change after a client read it, an edit with the old if_updated_at gets idea_changed', async () => {
    const { id, updated_at } = await create();
    await ask(`POST ${idea(id)}/status`, moderator, { status: 'planned' });
    await expectRefusal(() => edit(id, { title: 'x', if_updated_at: updated_at }), 409, 'idea_changed');
  });

  test('if 20 clients edit an idea at the same time with the same if_updated_at, exactly one succeeds and the others get idea_changed', async () => {
    const { id, updated_at } = await create();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => edit(id, { title: `Edit ${n}`, if_updated_at: updated_at })),
    );
    const winner = answers.filter(({ status }) => status === 200);
    expect(winner).toHaveLength(1);
    expect(answers.filter(({ key }) => key === 'idea_changed')).toHaveLength(19);
    expect(await rowOf(id)).toMatchObject({ title: winner[0]?.body.title });
    expect(await eventsOf(id, 'idea.updated')).toHaveLength(1);
  });

  test('after an edit of an idea, no event, no stored response and no retried webhook delivery contains the earlier text', async () => {
    const receiver = await startReceiverForTest((response, { body }) => response.writeHead(500).end(body));
    await addWebhook(server, world, { url: receiver.url });
    const input = { title: 'Export', body: 'The password is hunter2.' };
    const key = { 'idempotency-key': 'a-key' };
    const { body: created } = await request(server, 'POST /api/v1/ideas', { token: author, json: input, headers: key });
    const target = await create(stranger);
    await ask(`POST ${idea(target.id)}/merge`, moderator, { target_id: created.id });
    await runJobs(server);
    expect((await edit(created.id, { body: 'The password is secret.' })).status).toBe(200);
    await runJobs(server);
    const rows = await server.sql(
      `select 1 from events where idea_id = $1 and (body::text like '%hunter2%' or data::text like '%hunter2%')
      union all select 1 from events where idea_id = $2 and (data -> 'target')::text like '%hunter2%'
      union all select 1 from idempotency_keys where body like '%hunter2%'
      union all select 1 from webhook_attempts a where a.account_id = $3 and response like '%hunter2%'
        and a.delivery_id in (select d.id from webhook_deliveries d join events e on e.id = d.event_id where e.idea_id = $1)`,
      [created.id, target.id, world.accountId],
    );
    expect(rows).toEqual([]);
    const sentBefore = receiver.received.length;
    await fastForward(server);
    await runJobs(server);
    const repeated = receiver.received.slice(sentBefore).map(({ body }) => JSON.parse(body));
    const ofIdea = repeated.filter(({ data }) => data.idea.id === created.id).map(({ data }) => data.idea.body);
    expect(new Set(ofIdea)).toEqual(new Set(['The password is secret.']));
    const replayed = await request(server, 'POST /api/v1/ideas', { token: author, json: input, headers: key });
    expect(replayed.body).toMatchObject({ id: created.id, body: 'The password is secret.' });
  });

  test('after an edit of an idea, the server notifies only people who are mentioned in the new body but not in the earlier body', async () => {
    const names = ['Nina New', 'Otto Old'];
    const [newId, oldId] = await Promise.all(names.map(name => createMember(server, world.accountId, 'member', name)));
    const { body } = await ask('POST /api/v1/ideas', author, { title: 'Mentions', body: 'As @Otto Old said.' });
    await runJobs(server);
    await edit(body.id, { body: 'As @Otto Old and @Nina New said.' });
    await runJobs(server);
    const told = await server.sql(
      `select user_id from notifications where account_id = $1 and kind = 'user.mentioned' order by id`,
      [world.accountId],
    );
    expect(told).toEqual([{ user_id: oldId }, { user_id: newId }]);
  });
});

describe('the deletion of an idea', () => {
  test("no request can read a deleted idea, a second deletion gets 404, and the idea's body is removed from its database row and its events", async () => {
    const { id } = await create();
    expect((await remove(id)).body).toEqual({ id, deleted: true });
    for (const token of [author, moderator]) {
      expect(outcome(await ask(`GET ${idea(id)}`, token))).toEqual([404, 'not_found']);
      expect(outcome(await ask(`GET ${idea(id)}/comments`, token))).toEqual([404, 'not_found']);
      expect((await ask('GET /api/v1/ideas', token)).body.data).toEqual([]);
      expect((await ask('GET /api/v1/ideas?q=export', token)).body.data).toEqual([]);
      expect((await ask(`GET /api/v1/ideas?ids=${id}`, token)).body.data).toEqual([]);
      expect((await ask('GET /api/v1/ideas?sort=updated&updated_since=2026-01-01T00:00:00Z', token)).body.data).toEqual(
        [],
      );
      expect(outcome(await ask(`GET ${idea(id)}?expand=comments`, token))).toEqual([404, 'not_found']);
      await expectRefusal(() => remove(id, token), 404, 'not_found');
      await expectRefusal(() => edit(id, { title: 'Back' }, token), 404, 'not_found');
      await expectRefusal(() => ask(`POST ${idea(id)}/vote`, token, { value: 'up' }), 404, 'not_found');
      await expectRefusal(() => ask(`POST ${idea(id)}/comments`, token, { body: 'x' }), 404, 'not_found');
    }
    expect(outcome(await ask(`GET ${idea(id)}/votes`, moderator))).toEqual([404, 'not_found']);
    expect(outcome(await ask(`GET ${idea(id)}?expand=votes`, moderator))).toEqual([404, 'not_found']);
    await runJobs(server);
    expect(await rowOf(id)).toEqual({ title: '(deleted)', body: '(deleted)', moderation_state: 'deleted' });
    const events = await server.sql<{ text: string }>(
      'select concat(data, body) as text from events where idea_id = $1',
      [id],
    );
    expect(events.map(({ text }) => text.includes('hunter2'))).toEqual([false, false]);
    expect(await eventsOf(id, 'idea.deleted')).toMatchObject([
      { body: { data: { idea: { id, title: 'Export as CSV', body: '(deleted)' }, actor: { id: authorId } } } },
    ]);
  });

  test('an author can delete an idea with only their own votes and comments, but not an idea with a vote or comment by somebody else', async () => {
    const own = await create();
    await ask(`POST ${idea(own.id)}/vote`, author, { value: 'up' });
    await comment(own.id, 'One more thing.');
    expect((await remove(own.id)).status).toBe(200);

    const voted = await create();
    await ask(`POST ${idea(voted.id)}/vote`, stranger, { value: 'down' });
    await expectRefusal(() => remove(voted.id), 422, 'idea_in_use');
    await ask(`POST ${idea(voted.id)}/vote`, stranger, { value: 'none' });
    expect((await remove(voted.id)).status).toBe(200);

    const commented = await create();
    await comment(commented.id, 'Please.', stranger);
    await expectRefusal(() => remove(commented.id), 422, 'idea_in_use');
    expect((await remove(commented.id, moderator)).status).toBe(200);
  });

  test('if a moderator deletes an idea with a reason, its author gets a notification with the title and the reason, and other followers get none', async () => {
    const { id } = await create();
    await comment(id, 'I follow it now.', stranger);
    await runJobs(server);
    await server.sql('delete from notifications');
    await expectRefusal(() => remove(id, stranger, '?reason=Mine'), 403, 'not_author');
    expect((await remove(id, moderator, '?reason=Not%20about%20this%20product')).status).toBe(200);
    await runJobs(server);
    const told = await server.sql(
      `select n.user_id, n.kind, e.data ->> 'reason' as reason, e.data -> 'idea' ->> 'title' as title
      from notifications n join events e on e.id = n.event_id`,
    );
    const reason = 'Not about this product';
    expect(told).toEqual([{ user_id: authorId, kind: 'idea.deleted', reason, title: 'Export as CSV' }]);
    for (const query of ['?reason=', `?reason=${'x'.repeat(501)}`, '?why=x']) {
      const other = await create();
      await expectRefusal(() => remove(other.id, moderator, query), 422, 'validation_failed');
    }
  });

  test('after the deletion of an idea, no event, no stored response and no retried webhook delivery contains its comments, official replies or notes, but those of other ideas stay', async () => {
    const receiver = await startReceiverForTest((response, { body }) => response.writeHead(500).end(body));
    await addWebhook(server, world, { url: receiver.url });
    const [{ id }, other] = [await create(), await create()];
    // An event of the merge shows both ideas, so the deletion also replaces copies in the events of the other idea.
    await ask(`POST ${idea(other.id)}/merge`, moderator, { target_id: id });
    await ask(`POST ${idea(other.id)}/unmerge`, moderator);
    const send = async (path: string, token: string, body: string) => {
      const sent = { token, json: { body }, headers: { 'idempotency-key': 'a-key' } };
      const answer = await request(server, `POST ${path}`, sent);
      expect(answer.status).toBe(201);
      return { id: answer.body.id, repeat: () => request(server, `POST ${path}`, sent) };
    };
    const written = await send(`${idea(id)}/comments`, stranger, 'An INSULT.');
    // PostgreSQL has rewritten the stored response to a comment that was edited.
    const edited = await send(`${idea(id)}/comments`, author, 'INSULT');
    await ask(`PATCH ${idea(id)}/comments/${edited.id}`, author, { body: 'A longer INSULT.' });
    const note = await send(`${idea(id)}/notes`, moderator, 'An INSULT, too.');
    await ask(`POST ${idea(id)}/status`, moderator, { status: 'planned', reply: 'No INSULT, please.' });
    const kept = await send(`${idea(other.id)}/comments`, stranger, 'Praise.');
    const keptNote = await send(`${idea(other.id)}/notes`, moderator, 'Praise, too.');
    await runJobs(server);
    expect((await remove(id, moderator)).status).toBe(200);
    await runJobs(server);

    const { data } = (await ask('GET /api/v1/events', reader)).body;
    expect(JSON.stringify(data)).not.toContain('INSULT');
    const bodies = (type: string, member: string) =>
      data
        .map(({ event }: { event: { type: string; data: Record<string, { body: string }> } }) => event)
        .flatMap(({ type: of, data }: { type: string; data: Record<string, { body: string }> }) =>
          of === type ? [data[member]?.body] : [],
        );
    const deleted = '(deleted)';
    expect(bodies('comment.created', 'comment')).toEqual([deleted, deleted, deleted, 'Praise.']);
    expect(bodies('comment.updated', 'comment')).toEqual([deleted]);
    expect(bodies('idea.status_changed', 'reply')).toEqual([deleted]);
    const replays = await Promise.all([written, edited, note, kept, keptNote].map(({ repeat }) => repeat()));
    expect(replays.map(({ status, body }) => [status, body.body])).toEqual([
      ...Array(3).fill([201, deleted]),
      [201, 'Praise.'],
      [201, 'Praise, too.'],
    ]);
    const left = await server.sql(
      `select 1 from events where account_id = $1 and concat(data, body) like '%INSULT%'
      union all select 1 from idempotency_keys where account_id = $1 and body like '%INSULT%'
      union all select 1 from webhook_attempts where account_id = $1 and response like '%INSULT%'`,
      [world.accountId],
    );
    expect(left).toEqual([]);
    const sentBefore = receiver.received.length;
    await fastForward(server);
    await runJobs(server);
    const retried = receiver.received.slice(sentBefore).map(({ body }) => body);
    expect(retried.filter(body => body.includes('"comment.created"')).length).toBeGreaterThan(0);
    expect(retried.filter(body => body.includes('INSULT'))).toEqual([]);
  });

  test('on a frozen board, no token can delete an idea or a comment', async () => {
    const { id } = await create();
    const made = await comment(id, 'As it was');
    await setBoard('is_frozen = true');
    for (const token of [author, moderator]) {
      await expectRefusal(() => remove(id, token), 423, 'board_frozen');
      await expectRefusal(() => ask(`DELETE ${idea(id)}/comments/${made.id}`, token), 423, 'board_frozen');
    }
  });

  test('on a frozen board, a token that may not change a text gets not_author, and a request for a missing text gets not_found', async () => {
    const { id } = await create();
    const { id: commentId } = await comment(id, 'We need this.');
    await setBoard('is_frozen = true');
    const path = `${idea(id)}/comments/${commentId}`;
    await expectRefusal(() => edit(id, { title: 'Other' }, stranger), 403, 'not_author');
    await expectRefusal(() => remove(id, stranger), 403, 'not_author');
    await expectRefusal(() => ask(`PATCH ${path}`, stranger, { body: 'Other.' }), 403, 'not_author');
    await expectRefusal(() => ask(`DELETE ${path}`, stranger), 403, 'not_author');
    for (const texts of ['comments', 'notes']) {
      const missing = `${idea(id)}/${texts}/999999`;
      await expectRefusal(() => ask(`PATCH ${missing}`, moderator, { body: 'Other.' }), 404, 'not_found');
      await expectRefusal(() => ask(`DELETE ${missing}`, moderator), 404, 'not_found');
    }
    await expectRefusal(() => edit(id, { title: 'Other' }), 423, 'board_frozen');
    await expectRefusal(() => ask(`PATCH ${path}`, author, { body: 'Other.' }), 423, 'board_frozen');
  });

  test('an idea that is the target of a merge cannot be deleted, because the votes on the merged ideas would be lost', async () => {
    const [source, target] = [await create(), await create()];
    await ask(`POST ${idea(source.id)}/vote`, stranger, { value: 'up' });
    await ask(`POST ${idea(source.id)}/merge`, moderator, { target_id: target.id });
    await expectRefusal(() => remove(target.id, moderator), 422, 'idea_has_merged');
    await ask(`POST ${idea(source.id)}/unmerge`, moderator);
    expect((await remove(target.id, moderator)).status).toBe(200);
    expect((await ask(`GET ${idea(source.id)}`, author)).body).toMatchObject({ up_count: 1 });
  });

  test('the database row of a deleted idea is removed with its comments and votes only after the events of the idea have expired', async () => {
    const { id } = await create();
    await comment(id, 'Yes.', stranger);
    await ask(`POST ${idea(id)}/vote`, stranger, { value: 'up' });
    await remove(id, moderator);
    await runJobs(server);
    const clear = async () => {
      await clearOld(server.database, new AbortController().signal);
    };
    await server.sql(`update events set occurred_at = now() where idea_id = $1`, [id]);
    await clear();
    expect(await rowOf(id)).toBeDefined();
    await server.sql(`update events set occurred_at = now() - interval '31 days' where idea_id = $1`, [id]);
    await clear();
    expect(await rowOf(id)).toBeUndefined();
    const left = await server.sql(
      'select 1 from comments where idea_id = $1 union all select 1 from votes where idea_id = $1',
      [id],
    );
    expect(left).toEqual([]);
  });
});

describe('parallel changes of an idea', () => {
  test('if 10 requests delete one idea at the same time, exactly one succeeds, and only one event is recorded', async () => {
    const { id } = await create();
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove(id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)]);
    expect(await eventsOf(id, 'idea.deleted')).toHaveLength(1);
  });

  test.each([1, 2, 3, 4])(
    'if others vote and comment while the author deletes an idea, the server refuses either the deletion or all votes and comments (round %i)',
    async () => {
      const { id } = await create();
      const [deletion, vote, text] = await Promise.all([
        remove(id),
        ask(`POST ${idea(id)}/vote`, stranger, { value: 'up' }),
        ask(`POST ${idea(id)}/comments`, stranger, { body: 'Me too.' }),
      ]);
      if (deletion.status === 200) {
        expect([vote.status, text.status]).toEqual([404, 404]);
      } else {
        expect(outcome(deletion)).toEqual([422, 'idea_in_use']);
        expect([vote.status, text.status]).toContain(vote.status === 200 ? 200 : 201);
        expect((await rowOf(id))?.moderation_state).toBe('published');
      }
    },
  );

  test.each([1, 2, 3, 4])(
    'an edit of an idea in parallel with its merge or deletion is either complete or refused (round %i)',
    async () => {
      const [source, target] = [await create(), await create()];
      const [merge, edited] = await Promise.all([
        ask(`POST ${idea(source.id)}/merge`, moderator, { target_id: target.id }),
        edit(source.id, { title: 'Edited' }),
      ]);
      expect(merge.status).toBe(200);
      expect([200, 422]).toContain(edited.status);
      expect((await rowOf(source.id))?.title).toBe(edited.status === 200 ? 'Edited' : 'Export as CSV');

      const { id } = await create();
      const [deletion, change] = await Promise.all([remove(id), edit(id, { title: 'Edited' })]);
      expect(deletion.status).toBe(200);
      expect([200, 404]).toContain(change.status);
      expect(await rowOf(id)).toMatchObject({ title: '(deleted)', moderation_state: 'deleted' });
      expect(await eventsOf(id, 'idea.updated')).toHaveLength(change.status === 200 ? 1 : 0);
    },
  );

  test.each([1, 2, 3, 4])(
    'if a merge and the deletion of its target run in parallel, only one of the two requests succeeds (round %i)',
    async () => {
      const [source, target] = [await create(), await create()];
      const [merge, deletion] = await Promise.all([
        ask(`POST ${idea(source.id)}/merge`, moderator, { target_id: target.id }),
        remove(target.id, moderator),
      ]);
      expect([outcome(merge), outcome(deletion)]).toEqual(
        merge.status === 200
          ? [
              [200, undefined],
              [422, 'idea_has_merged'],
            ]
          : [
              [404, 'not_found'],
              [200, undefined],
            ],
      );
      expect((await ask(`GET ${idea(source.id)}`, author)).status).toBe(200);
    },
  );
});

describe('the change of a comment', () => {
  const path = (ideaId: number, id: number) => `${idea(ideaId)}/comments/${id}`;
  const rows = (ideaId: number) =>
    server.sql<{ id: number; body: string }>('select id, body from comments where idea_id = $1 order by id', [ideaId]);

  test("an author can edit and delete a comment, and the events of these changes contain the comment but not the comment's author", async () => {
    const { id: ideaId } = await create();
    const made = await comment(ideaId, 'Frist!');
    const edited = await ask(`PATCH ${path(ideaId, made.id)}`, author, {
      body: ' First! ',
      if_updated_at: made.updated_at,
    });
    expect(edited).toMatchObject({ status: 200, body: { id: made.id, body: 'First!', author: made.author } });
    expect(Date.parse(edited.body.updated_at)).toBeGreaterThan(Date.parse(made.updated_at));
    expect((await ask(`GET ${idea(ideaId)}/comments`, author)).body.data).toEqual([edited.body]);
    const { author: _, ...shown } = edited.body;
    const [updated] = await eventsOf(ideaId, 'comment.updated');
    expect(updated.body.data.comment).toEqual(shown);
    expect((await ask(`DELETE ${path(ideaId, made.id)}`, author)).body).toEqual({ id: made.id, deleted: true });
    expect(await rows(ideaId)).toEqual([]);
    const [deleted] = await eventsOf(ideaId, 'comment.deleted');
    const { body: __, updated_at: ___, ...rest } = shown;
    expect(deleted.body.data).toMatchObject({ comment: rest, idea: { id: ideaId, comment_count: 0 } });
    expect(Object.keys(deleted.body.data.comment).sort()).toEqual(Object.keys(rest).sort());
    const texts = await server.sql(`select 1 from events where idea_id = $1 and concat(data, body) like '%First!%'`, [
      ideaId,
    ]);
    expect(texts).toEqual([]);
    await expectRefusal(() => ask(`DELETE ${path(ideaId, made.id)}`, author), 404, 'not_found');
    await expectRefusal(() => ask(`PATCH ${path(ideaId, made.id)}`, author, { body: 'x' }), 404, 'not_found');
  });

  test('the author of a comment can edit or delete the comment for only 15 minutes, a moderator can at any time, and other members cannot', async () => {
    const { id: ideaId } = await create();
    const made = await comment(ideaId, 'As it was');
    await expectRefusal(() => ask(`PATCH ${path(ideaId, made.id)}`, stranger, { body: 'x' }), 403, 'not_author');
    await expectRefusal(() => ask(`DELETE ${path(ideaId, made.id)}`, stranger), 403, 'not_author');
    clock.set(new Date(start.getTime() + changeMinutes * 60_000));
    await expectRefusal(
      () => ask(`PATCH ${path(ideaId, made.id)}`, author, { body: 'x' }),
      422,
      'change_window_closed',
    );
    await expectRefusal(() => ask(`DELETE ${path(ideaId, made.id)}`, author), 422, 'change_window_closed');
    const reason = 'Insult';
    expect((await ask(`PATCH ${path(ideaId, made.id)}`, moderator, { body: 'Kinder', reason })).status).toBe(200);
    expect((await ask(`DELETE ${path(ideaId, made.id)}?reason=Insult`, moderator)).status).toBe(200);
    for (const type of ['comment.updated', 'comment.deleted']) {
      expect((await eventsOf(ideaId, type)).map(({ body }) => body.data.reason)).toEqual([reason]);
    }
  });

  test('a frozen board refuses edits of comments, and comments on merged ideas or in statuses closed for comments can be deleted but not edited', async () => {
    const { id: ideaId } = await create();
    const made = await comment(ideaId, 'As it was');
    const target = await create();
    const send = () => ask(`PATCH ${path(ideaId, made.id)}`, author, { body: 'Changed' });
    await setBoard('is_frozen = true');
    await expectRefusal(send, 423, 'board_frozen');
    await setBoard('is_frozen = false');
    await server.sql('update statuses set allow_comments = false where board_id = $1', [world.boardId]);
    await expectRefusal(send, 423, 'status_comments_closed');
    await server.sql('update statuses set allow_comments = true where board_id = $1', [world.boardId]);
    await ask(`POST ${idea(ideaId)}/merge`, moderator, { target_id: target.id });
    await expectRefusal(send, 422, 'idea_already_merged');
    await server.sql('update statuses set allow_comments = false where board_id = $1', [world.boardId]);
    expect((await ask(`DELETE ${path(ideaId, made.id)}`, author)).status).toBe(200);
  });

  test('if 10 clients edit a comment at the same time with the same if_updated_at, one succeeds and the others get the error comment_changed', async () => {
    const { id: ideaId } = await create();
    const made = await comment(ideaId, 'As it was');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        ask(`PATCH ${path(ideaId, made.id)}`, author, { body: `Edit ${n}`, if_updated_at: made.updated_at }),
      ),
    );
    const winner = answers.find(({ status }) => status === 200);
    expect(answers.filter(({ key, status }) => status === 409 && key === 'comment_changed')).toHaveLength(9);
    expect(await rows(ideaId)).toEqual([{ id: made.id, body: winner?.body.body }]);
    expect(await eventsOf(ideaId, 'comment.updated')).toHaveLength(1);
  });

  test('if several requests delete and edit one comment at the same time, exactly one deletion succeeds, and the comment count is exact', async () => {
    const { id: ideaId } = await create();
    const made = await comment(ideaId, 'As it was');
    await comment(ideaId, 'Stays', stranger);
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => ask(`DELETE ${path(ideaId, made.id)}`, author)),
      ...Array.from({ length: 5 }, (_, n) => ask(`PATCH ${path(ideaId, made.id)}`, author, { body: `Edit ${n}` })),
    ]);
    expect(answers.slice(0, 5).filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.every(({ status }) => status === 200 || status === 404)).toBe(true);
    expect((await ask(`GET ${idea(ideaId)}`, author)).body.comment_count).toBe(1);
    expect(await eventsOf(ideaId, 'comment.deleted')).toHaveLength(1);
  });
});

describe('the events of changes', () => {
  test('the list of events contains edits, tag changes and deletions, but none of the texts from before these changes', async () => {
    const tagId = await createTag(server, world.accountId, world.boardId, 'reports');
    const { id } = await create();
    const { id: commentId } = await comment(id, 'The password is hunter3.');
    await edit(id, { body: 'By e-mail.' });
    await ask(`POST ${idea(id)}/tags`, moderator, { tag_id: tagId });
    await ask(`PATCH ${idea(id)}/comments/${commentId}`, author, { body: 'Please.' });
    await ask(`DELETE ${idea(id)}/comments/${commentId}`, author);
    await remove(id);
    await runJobs(server);
    const { data } = (await ask('GET /api/v1/events', reader)).body;
    const types = data.map(({ event }: { event: { type: string } }) => event.type);
    expect(types).toEqual([
      'idea.created',
      'comment.created',
      'idea.updated',
      'idea.tagged',
      'comment.updated',
      'comment.deleted',
      'idea.deleted',
    ]);
    expect(JSON.stringify(data)).not.toMatch(/hunter|e-mail|Please/);
  });

  test('a webhook gets `idea.voted` events only if its chosen event types include `idea.voted`, so a webhook without chosen event types gets none', async () => {
    const receiver = await startReceiverForTest();
    await addWebhook(server, world, { url: `${receiver.url}/all`, eventTypes: [] });
    await addWebhook(server, world, { url: `${receiver.url}/votes`, eventTypes: ['idea.voted'] });
    const { id } = await create();
    await ask(`POST ${idea(id)}/vote`, stranger, { value: 'up' });
    await edit(id, { title: 'Edited' });
    await runJobs(server);
    const sent = receiver.received.map(({ path, body }) => [path, JSON.parse(body).type]);
    expect(sent.sort()).toEqual([
      ['/all', 'idea.created'],
      ['/all', 'idea.updated'],
      ['/votes', 'idea.voted'],
    ]);
  });

  test("the server records an event `idea.tagged` with the tag's id when a tag is added or removed, but not when the same request is repeated", async () => {
    const { id } = await create();
    const [tag] = await server.sql<{ id: number }>(
      `insert into tags (account_id, board_id, name, color) values ($1, $2, 'Design', '#0f766e') returning id`,
      [world.accountId, world.boardId],
    );
    for (let n = 0; n < 2; n++) await ask(`POST ${idea(id)}/tags`, moderator, { tag_id: tag?.id });
    clock.set(new Date(start.getTime() + 1));
    for (let n = 0; n < 2; n++) await ask(`DELETE ${idea(id)}/tags/${tag?.id}`, moderator);
    const events = (await eventsOf(id, 'idea.tagged')).map(({ body }) => body.data);
    expect(events.map(({ changes }) => changes)).toEqual([
      [{ field: 'tags', from: null, to: tag?.id }],
      [{ field: 'tags', from: tag?.id, to: null }],
    ]);
    expect(events.map(({ idea }) => idea.tags.length)).toEqual([1, 0]);
  });

  test('if a tag is removed from a board, all its ideas lose the tag and get a later updated_at, and the server records no event', async () => {
    const tagId = await createTag(server, world.accountId, world.boardId, 'reports');
    const [tagged, other, gone] = [await create(), await create(), await create()];
    for (const { id } of [tagged, gone]) await ask(`POST ${idea(id)}/tags`, moderator, { tag_id: tagId });
    await remove(gone.id, moderator);
    await runJobs(server);
    await server.sql(
      `with many as (
        insert into ideas (account_id, board_id, status_id, author_id, title, body, moderation_state, created_at, updated_at)
        select account_id, board_id, status_id, author_id, title, body, moderation_state, created_at, updated_at
        from ideas, generate_series(1, 1000) where id = $1 returning id
      ) insert into idea_tags (account_id, idea_id, tag_id) select $2, id, $3 from many`,
      [tagged.id, world.accountId, tagId],
    );
    const before = (await ask(`GET ${idea(tagged.id)}`, author)).body;
    expect(before.tags).toMatchObject([{ id: tagId }]);
    const updatedAt = async (id: number) => (await server.sql('select updated_at from ideas where id = $1', [id]))[0];
    const deletedAt = await updatedAt(gone.id);
    const removed = new Date(start.getTime() + 60_000);
    clock.set(removed);
    const board = { id: world.boardId, accountId: world.accountId };
    await administer(server, async admin => removeTag(admin, await requireTag(admin, board, 'reports')));
    expect((await waitingJobs(server)).filter(({ task }) => task === 'touch_ideas')).toHaveLength(2);
    expect(await runJobs(server)).toEqual([]);

    const after = (await ask(`GET ${idea(tagged.id)}`, author)).body;
    expect(after).toEqual({ ...before, tags: [], updated_at: removed.toISOString() });
    await expectRefusal(
      () => edit(tagged.id, { title: 'x', if_updated_at: before.updated_at }, moderator),
      409,
      'idea_changed',
    );
    expect((await ask(`GET ${idea(other.id)}`, author)).body).toEqual(other);
    expect(await updatedAt(gone.id)).toEqual(deletedAt);
    expect(await server.sql('select from idea_tags where tag_id = $1', [tagId])).toEqual([]);
    const changed = await server.sql('select from ideas where board_id = $1 and updated_at = $2', [
      world.boardId,
      removed,
    ]);
    expect(changed).toHaveLength(1001);
    expect(await eventsOf(tagged.id, 'idea.tagged')).toHaveLength(1);
  });
});
