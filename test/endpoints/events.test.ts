import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventTypes } from '../../contract/events.ts';
import { decodeEventCursor, encodeEventCursor } from '../../server/domain/events/event-cursor.ts';
import { clearOld } from '../../server/jobs/clear-expired.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import {
  createBoard,
  createTag,
  createWorld,
  insertComment,
  insertIdea,
  issueToken,
  type World,
} from '../helpers/fixtures.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServer, startServerForTest, type TestServer } from '../helpers/server.ts';
import { addWebhook, verify } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

interface Follower {
  world: World;
  token: string;
}

/** Creates a separate board for a test, and a token for this board. */
async function createFollower(grant: 'read' | 'moderate' = 'moderate'): Promise<Follower> {
  const world = await createWorld(server);
  return { world, token: (await issueToken(server, world, grant)).token };
}

const list = ({ token }: Pick<Follower, 'token'>, query: Record<string, string | number> = {}, on = server) =>
  request(on, `GET /api/v1/events?${new URLSearchParams(query as Record<string, string>)}`, { token });

const create = ({ token }: Pick<Follower, 'token'>, title = 'An idea') =>
  request(server, 'POST /api/v1/ideas', { token, json: { title, body: 'x'.repeat(400) } });

/** Creates an idea for each age, so that its event has this age. Returns the list of all these events. */
async function createAged(follower: Follower, ages: string[]) {
  for (const age of ages) await create(follower, age);
  const { body } = await list(follower);
  const ids = body.data.map(({ id }: { id: string }) => id.slice(4));
  await server.sql(
    `update events set occurred_at = now() - age from unnest($1::uuid[], $2::interval[]) as aged(id, age)
    where events.id = aged.id`,
    [ids, ages],
  );
  return body;
}

const titlesOf = (page: { data: { event: { data: { idea: { title: string } } } }[] }) =>
  page.data.map(({ event }) => event.data.idea.title);

/**
 * The SQL statement that records an event of an idea. Operations of the server run the same statement in their
 * transactions.
 */
const record = `select record_event($1::bigint, $3::text, $2::bigint, null, $4::bigint, null, $5::jsonb, now())`;
const recorded = ({ world }: Follower, ideaId: number, type = 'idea.created') => [
  world.accountId,
  ideaId,
  type,
  world.ownerId,
  '{}',
];

describe('the list of events', () => {
  test('the list of events has the same ids and bodies as the webhook deliveries, oldest first', async () => {
    const follower = await createFollower();
    const receiver = await startReceiver();
    const { secret } = await addWebhook(server, follower.world, { url: receiver.url });
    const { body: idea } = await create(follower);
    const { body: target } = await create(follower, 'The target');
    const act = (line: string, json: unknown) =>
      request(server, `POST /api/v1/ideas/${idea.id}/${line}`, { token: follower.token, json });
    await act('vote', { value: 'up' });
    await act('comments', { body: 'We need this.' });
    await act('status', { status: 'planned', reply: 'In spring.' });
    await act('merge', { target_id: target.id });
    await act('unmerge', undefined);
    // After a change of a text, a worker also changes the text in earlier events. So the ideas that are changed here
    // have no earlier events.
    const changedId = await insertIdea(server, follower.world);
    const commentId = await insertComment(server, follower.world, changedId);
    const deletedId = await insertIdea(server, follower.world);
    const tagId = await createTag(server, follower.world.accountId, follower.world.boardId, 'reports');
    const change = async (line: string, json?: unknown) => {
      expect((await request(server, line, { token: follower.token, json })).status).toBe(200);
    };
    await change(`PATCH /api/v1/ideas/${changedId}`, { body: 'By e-mail.', reason: 'Too short' });
    await change(`POST /api/v1/ideas/${changedId}/tags`, { tag_id: tagId });
    await change(`PATCH /api/v1/ideas/${changedId}/comments/${commentId}`, { body: 'Please.' });
    await change(`DELETE /api/v1/ideas/${changedId}/comments/${commentId}`);
    await change(`DELETE /api/v1/ideas/${deletedId}?reason=Spam`);
    await startWorkerForTest(server);
    const received = await receiver.waitForRequests(13);
    await receiver.close();

    const { status, body } = await list(follower, { types: eventTypes.join(',') });
    expect(status).toBe(200);
    expect(body).toMatchObject({ has_more: false, next_cursor: expect.any(String) });
    const delivered = new Map(received.map(one => [one.headers['webhook-id'], verify(one, secret)]));
    const listed = body.data as { id: string; event: { type: string } }[];
    expect(listed.map(({ event }) => event.type)).toEqual([
      ...['idea.created', 'idea.created', 'idea.voted', 'comment.created', 'comment.created'],
      ...['idea.status_changed', 'idea.merged', 'idea.unmerged'],
      ...['idea.updated', 'idea.tagged', 'comment.updated', 'comment.deleted', 'idea.deleted'],
    ]);
    expect(new Set(listed.map(({ event }) => event.type))).toEqual(new Set(eventTypes));
    expect(new Map(listed.map(({ id, event }) => [id, event]))).toEqual(delivered);
  });

  test('a client that reads the list of events page by page with cursors gets every event of the board once', async () => {
    const follower = await createFollower('moderate');
    for (const title of ['1', '2', '3', '4', '5']) await create(follower, title);
    const first = (await list(follower, { limit: 2 })).body;
    expect([titlesOf(first), first.has_more]).toEqual([['1', '2'], true]);
    expect(first.next_cursor).toBe(first.data[1].cursor);
    const second = (await list(follower, { limit: 2, after: first.next_cursor })).body;
    expect([titlesOf(second), second.has_more]).toEqual([['3', '4'], true]);
    const third = (await list(follower, { limit: 2, after: second.next_cursor })).body;
    expect([titlesOf(third), third.has_more]).toEqual([['5'], false]);
    const fourth = (await list(follower, { limit: 2, after: third.next_cursor })).body;
    expect(fourth).toEqual({ data: [], has_more: false, next_cursor: third.next_cursor });
    await create(follower, '6');
    expect(titlesOf((await list(follower, { after: fourth.next_cursor })).body)).toEqual(['6']);
  });

  test('if a client requests the events after the cursor of an event, the list begins with the next event', async () => {
    const follower = await createFollower();
    for (const title of ['1', '2', '3']) await create(follower, title);
    const { data } = (await list(follower)).body;
    expect(titlesOf((await list(follower, { after: data[0].cursor })).body)).toEqual(['2', '3']);
    expect(titlesOf((await list(follower, { after: data[1].cursor })).body)).toEqual(['3']);
  });

  test('the list of events with `after=now` is empty, and its cursor leads to the later events', async () => {
    const follower = await createFollower();
    const empty = (await list(follower, { after: 'now' })).body;
    await create(follower, '1');
    const { body } = await list(follower, { after: 'now' });
    expect(body).toMatchObject({ data: [], has_more: false });
    await create(follower, '2');
    expect(titlesOf((await list(follower, { after: body.next_cursor })).body)).toEqual(['2']);
    expect(titlesOf((await list(follower, { after: empty.next_cursor })).body)).toEqual(['1', '2']);
  });

  test('the list of events returns only the event types in the parameter `types`, and `next_cursor` also skips events of other types', async () => {
    const follower = await createFollower();
    const { body: idea } = await create(follower);
    const say = (text: string) =>
      request(server, `POST /api/v1/ideas/${idea.id}/status`, {
        token: follower.token,
        json: { status: 'planned', reply: text },
      });
    await say('In spring.');
    const { body } = await list(follower, { types: 'comment.created,idea.merged,comment.created' });
    expect(body.data.map(({ event }: { event: { type: string } }) => event.type)).toEqual(['comment.created']);
    const rest = await list(follower, { after: body.next_cursor });
    expect(rest.body.data).toEqual([]);
    const wrong = await list(follower, { types: 'idea.created,idea.vanished' });
    expect([wrong.status, wrong.key, wrong.body.error.issues[0].path]).toEqual([
      422,
      'validation_failed',
      ['query', 'types', 1],
    ]);
  });

  test('a list of events that is requested with `body=excerpt` cuts the bodies of ideas to 300 characters and sets `body_truncated`', async () => {
    const follower = await createFollower();
    await create(follower);
    const [whole] = (await list(follower)).body.data;
    const [cut] = (await list(follower, { body: 'excerpt' })).body.data;
    const { body, ...others } = whole.event.data.idea;
    expect(body).toHaveLength(400);
    expect(cut.event.data.idea).toEqual({ ...others, body: body.slice(0, 300), body_truncated: true });
  });

  test('a token for two boards gets only the events of the requested board, and the cursor of one board is invalid for the other board', async () => {
    const follower = await createFollower();
    const other = await createBoard(server, follower.world.accountId);
    const { token } = await issueToken(server, follower.world, {
      [follower.world.boardId]: 'moderate',
      [other.id]: 'moderate',
    });
    await create(follower, 'Here');
    const at = (board: string) => list({ token }, { board });
    expect(titlesOf((await at(follower.world.boardSlug)).body)).toEqual(['Here']);
    expect((await at(other.slug)).body.data).toEqual([]);
    const { next_cursor } = (await at(follower.world.boardSlug)).body;
    const crossing = await list({ token }, { board: other.slug, after: next_cursor });
    expect([crossing.status, crossing.key, crossing.body.error.issues[0].path]).toEqual([
      422,
      'validation_failed',
      ['query', 'after'],
    ]);
  });

  test('for a board without events, each request for the list of events returns the same cursor', async () => {
    const follower = await createFollower('read');
    const { body } = await list(follower);
    expect(body.data).toEqual([]);
    expect((await list(follower, { after: body.next_cursor })).body).toEqual(body);
  });

  test("an event that was recorded while its idea was pending is returned only to tokens that can moderate, even after the idea's approval", async () => {
    const follower = await createFollower('moderate');
    const { token: reader } = await issueToken(server, follower.world, 'write');
    const ideaId = await insertIdea(server, follower.world, { title: 'Pending', moderationState: 'pending' });
    // No operation of this server version records an `idea.created` event of a pending idea, so the test records this
    // event itself. The list must leave out the internal event `idea.pending`.
    await server.sql(record, recorded(follower, ideaId));
    await server.sql(record, recorded(follower, ideaId, 'idea.pending'));
    await server.sql(`update ideas set moderation_state = 'published' where id = $1`, [ideaId]);
    await server.sql(record, recorded(follower, ideaId));
    const statesFor = async (token: string) =>
      (await list({ token })).body.data.map((one: { event: { data: { idea: object } } }) => one.event.data.idea);
    expect(await statesFor(reader)).toMatchObject([{ moderation_state: 'published' }]);
    expect(await statesFor(follower.token)).toMatchObject([
      { moderation_state: 'pending' },
      { moderation_state: 'published' },
    ]);
    const { accountId, ownerId } = follower.world;
    const demote = (role: string) =>
      server.sql('update memberships set role = $3 where account_id = $1 and user_id = $2', [accountId, ownerId, role]);
    await demote('member');
    expect(await statesFor(follower.token)).toMatchObject([{ moderation_state: 'published' }]);
    await demote('owner');
  });
});

describe('votes in the list of events', () => {
  const vote = (token: string, id: number, value: string) =>
    request(server, `POST /api/v1/ideas/${id}/vote`, { token, json: { value } });
  const votesOf = (page: { data: { event: { data: { vote: object } } }[] }) =>
    page.data.map(({ event }) => event.data.vote);

  test("the server records a board's `idea.voted` events only after the first request for this type, and lists them only if a request names the type", async () => {
    const follower = await createFollower();
    const { body: idea } = await create(follower);
    await vote(follower.token, idea.id, 'up');
    const first = (await list(follower, { types: 'idea.voted' })).body;
    expect(first.data).toEqual([]);
    await vote(follower.token, idea.id, 'down');
    await vote(follower.token, idea.id, 'none');
    const next = (await list(follower, { types: 'idea.voted', after: first.next_cursor })).body;
    expect(votesOf(next)).toEqual([
      { value: 'down', previous: 'up' },
      { value: 'none', previous: 'down' },
    ]);
    expect((await list(follower, { after: first.next_cursor })).body.data).toEqual([]);
    const other = await createFollower();
    const { body: unfollowed } = await create(other);
    await vote(other.token, unfollowed.id, 'up');
    expect(await server.sql(`select from events where idea_id = $1 and type = 'idea.voted'`, [unfollowed.id])).toEqual(
      [],
    );
  });

  test('a request for `idea.voted` events makes the server record these events of a board for 32 days, unless another request prolongs the time', async () => {
    const clock = testClock();
    const later = await startServerForTest({ on: server, clock });
    const follower = await createFollower();
    const untilDay = async () => {
      const [row] = await server.sql<{ expires_at: string }>(
        'select expires_at from vote_followings where board_id = $1',
        [follower.world.boardId],
      );
      return Math.round((Date.parse(row?.expires_at ?? '') - Date.now()) / (24 * 3_600_000));
    };
    await list(follower, { types: 'idea.voted' }, later);
    expect(await untilDay()).toBe(32);
    clock.advance(3_600_000);
    await list(follower, { types: 'idea.voted' }, later);
    expect(await untilDay()).toBe(32);
    clock.advance(5 * 24 * 3_600_000);
    await list(follower, { types: 'idea.voted' }, later);
    expect(await untilDay()).toBe(37);
    await server.sql('update vote_followings set expires_at = now() where board_id = $1', [follower.world.boardId]);
    const { body: idea } = await create(follower);
    await vote(follower.token, idea.id, 'up');
    expect(await server.sql(`select from events where idea_id = $1 and type = 'idea.voted'`, [idea.id])).toEqual([]);
  });
});

test('a request for events may wait at most 55 seconds, and a longer wait is refused without waiting', async () => {
  const follower = await createFollower();
  for (const wait of [56, -1, 1.5, 'long']) {
    const { status, key, body } = await list(follower, { wait });
    expect([wait, status, key]).toEqual([wait, 422, 'validation_failed']);
    expect(body.error.issues[0].path).toEqual(['query', 'wait']);
  }
});

describe('the cursor of the list of events', () => {
  test('the list of events refuses a truncated, changed or made-up cursor with validation_failed, and the error names the parameter', async () => {
    const follower = await createFollower();
    await create(follower);
    const { next_cursor: cursor } = (await list(follower)).body;
    const changed = `${cursor.slice(0, 20)}${cursor[20] === 'A' ? 'B' : 'A'}${cursor.slice(21)}`;
    for (const after of [cursor.slice(1), `${cursor}A`, changed, `${cursor} `, 'NOW', '1', '', 'x'.repeat(101)]) {
      const answer = await list(follower, { after });
      expect([after, answer.status, answer.key]).toEqual([after, 422, 'validation_failed']);
      expect(answer.body.error.issues[0].path).toEqual(['query', 'after']);
    }
  });

  test('a cursor of the list of events expires after 30 days, even if the board has no new events', async () => {
    const clock = testClock();
    const later = await startServerForTest({ on: server, clock });
    const follower = await createFollower();
    await create(follower);
    const { next_cursor } = (await list(follower, {}, later)).body;
    const day = 24 * 3_600_000;
    clock.advance(29 * day);
    const renewed = (await list(follower, { after: next_cursor }, later)).body;
    expect(renewed.next_cursor).not.toBe(next_cursor);
    clock.advance(2 * day);
    const answer = await list(follower, { after: next_cursor }, later);
    expect([answer.status, answer.key]).toEqual([410, 'cursor_expired']);
    expect((await list(follower, { after: renewed.next_cursor }, later)).status).toBe(200);
  });

  test('when the server deletes old events, it keeps all events after a valid cursor, and the cursor stays valid if its own event is deleted', async () => {
    const follower = await createFollower();
    await create(follower, 'old');
    await create(follower, 'new');
    const { data } = (await list(follower)).body;
    await server.sql(`update events set occurred_at = now() - interval '30 days 3 hours' where id = $1`, [
      data[0].id.slice(4),
    ]);
    await server.sql(`update events set occurred_at = now() - interval '30 days 30 minutes' where id = $1`, [
      data[1].id.slice(4),
    ]);
    await clearOld(server.database, new AbortController().signal);
    expect(titlesOf((await list(follower, { after: data[0].cursor })).body)).toEqual(['new']);
  });

  test('a client that was stopped for weeks can continue until the next event after its cursor is 30 days old', async () => {
    const clock = testClock();
    const later = await startServerForTest({ on: server, clock });
    const follower = await createFollower();
    const { data: created } = await createAged(follower, ['29 days 22 hours', '2 days']);
    const { body: first } = await list(follower, { limit: 1 }, later);
    expect(first).toMatchObject({ data: [{ id: created[0].id }], has_more: true });
    expect(first.data[0].cursor).toBe(first.next_cursor);
    clock.advance(27 * 24 * 3_600_000);
    const { body: second } = await list(follower, { limit: 1, after: first.next_cursor }, later);
    expect(second).toMatchObject({ data: [{ id: created[1].id }], has_more: false });
    clock.advance(2 * 24 * 3_600_000);
    expect((await list(follower, { after: first.next_cursor }, later)).key).toBe('cursor_expired');
    expect((await list(follower, { after: second.next_cursor }, later)).body.data).toEqual([]);
    expect((await list(follower, { after: second.data[0].cursor }, later)).body.data).toEqual([]);
  });

  test('without a cursor, the list of events starts with the first event of the last 30 days, and the cursors of all pages are valid', async () => {
    const follower = await createFollower();
    const hour = '30 days 1 hour';
    const { data: created } = await createAged(follower, [hour, hour, hour, '29 days', '29 days', '29 days']);
    const { body: first } = await list(follower, { limit: 2 });
    const { body: second } = await list(follower, { limit: 2, after: first.next_cursor });
    const ids = [...first.data, ...second.data].map(({ id }: { id: string }) => id);
    expect(ids).toEqual(created.slice(3).map(({ id }: { id: string }) => id));
    expect(second.has_more).toBe(false);
  });

  test('after a restore of the database, a cursor works if its event exists at the same position, and otherwise gets the error cursor_expired', async () => {
    const follower = await createFollower();
    await create(follower, '1');
    await create(follower, '2');
    const { data, next_cursor } = (await list(follower)).body;
    const cursor = decodeEventCursor(data[0].cursor);
    if (!cursor) throw new Error('The cursor is invalid');
    // Simulates a cursor that was issued before the database was restored from a backup.
    const restored = { ...cursor, incarnation: '00000000' };
    const read = (after: typeof cursor) => list(follower, { after: encodeEventCursor(after) });
    expect(titlesOf((await read(restored)).body)).toEqual(['2']);
    const lost = await read({ ...restored, event: '00000000' });
    expect([lost.status, lost.key]).toEqual([410, 'cursor_expired']);
    const ahead = { ...restored, position: cursor.position + 1_000_000 };
    const missing = await read(ahead);
    expect([missing.status, missing.key]).toEqual([410, 'cursor_expired']);
    // The event of this cursor is so old that the server may have deleted it.
    const deleted = { ...ahead, eventHour: cursor.hour - 31 * 24 };
    expect((await read(deleted)).status).toBe(200);
    expect(titlesOf((await read({ ...restored, position: 0, event: '00000000' })).body)).toEqual(['1', '2']);
    expect((await list(follower, { after: next_cursor })).body.data).toEqual([]);
  });

  test('after the table event_positions was restored from a dump, new cursors differ from the cursors before the restore', async () => {
    const follower = await createFollower();
    const { next_cursor: before } = (await list(follower)).body;
    await server.sql('create table copied (like event_positions including all)');
    await server.sql('alter table event_positions rename to replaced');
    await server.sql('alter table copied rename to event_positions');
    const { next_cursor: after } = (await list(follower)).body;
    await server.sql('alter table event_positions rename to copied');
    await server.sql('alter table replaced rename to event_positions');
    await server.sql('drop table copied');
    expect(decodeEventCursor(after)?.incarnation).not.toBe(decodeEventCursor(before)?.incarnation);
  });
});

describe('events of parallel transactions', () => {
  test('if two transactions with events overlap, clients get the events in the order of the commits and miss none', async () => {
    const follower = await createFollower();
    const [early = 0, late = 0] = [
      await insertIdea(server, follower.world, { title: 'recorded first, committed last' }),
      await insertIdea(server, follower.world, { title: 'recorded last, committed first' }),
    ];
    const slow = await connect(server.url);
    await slow.query('begin');
    await slow.query(record, recorded(follower, early));
    await server.sql(record, recorded(follower, late));
    const first = (await list(follower)).body;
    expect(titlesOf(first)).toEqual(['recorded last, committed first']);
    const now = (await list(follower, { after: 'now' })).body;
    await slow.query('commit');
    for (const { next_cursor } of [first, now]) {
      expect(titlesOf((await list(follower, { after: next_cursor })).body)).toEqual(['recorded first, committed last']);
    }
    expect(titlesOf((await list(follower)).body)).toEqual([
      'recorded last, committed first',
      'recorded first, committed last',
    ]);
    await slow.end();
  });

  test('clients get the events of other transactions without delay while a transaction with an event stays open', async () => {
    const follower = await createFollower();
    const slow = await connect(server.url);
    await slow.query('begin');
    await slow.query(`update accounts set name = name where id = $1`, [follower.world.accountId]);
    await server.sql('select pg_current_xact_id()');
    const ideaId = await insertIdea(server, follower.world, { title: 'Not delayed' });
    await server.sql(record, recorded(follower, ideaId));
    expect(titlesOf((await list(follower)).body)).toEqual(['Not delayed']);
    await slow.query('rollback');
    await slow.end();
  });

  test('each of five clients that follow a board gets every committed event once while ten writers commit in random order or roll back', async () => {
    const follower = await createFollower();
    const ideas = await Promise.all(
      Array.from({ length: 10 }, (_, n) => insertIdea(server, follower.world, { title: `Idea ${n}` })),
    );
    const committed: string[] = [];
    let isOver = false;
    const writing = Promise.all(
      ideas.map(async ideaId => {
        const client = await connect(server.url);
        for (let n = 0; n < 30; n++) {
          await client.query('begin');
          const { rows } = await client.query(`${record} as id`, recorded(follower, ideaId));
          await client.query('select pg_sleep($1)', [Math.random() ** 4 / 20]);
          const isKept = Math.random() < 0.8;
          if (isKept) committed.push(`evt_${rows[0].id}`);
          await client.query(isKept ? 'commit' : 'rollback');
        }
        await client.end();
      }),
    ).then(() => {
      isOver = true;
    });
    const follow = async (limit: number) => {
      const seen: { id: string; ideaId: number; number: number }[] = [];
      let after: Record<string, string> = {};
      for (;;) {
        const isLast = isOver;
        const { body } = await list(follower, { ...after, limit });
        seen.push(...body.data.map(({ id }: { id: string }) => id));
        after = { after: body.next_cursor };
        if (isLast && !body.has_more) return seen;
      }
    };
    const [, ...followed] = await Promise.all([writing, ...[1, 3, 7, 50, 100].map(follow)]);
    expect(committed.length).toBeGreaterThan(200);
    for (const seen of followed) expect(seen).toEqual(followed[0]);
    expect([...(followed[0] ?? [])].map(String).sort()).toEqual(committed.sort());
    // The list must return the events of one idea in the order in which they were recorded.
    const rows = await server.sql<{ is_ordered: boolean }>(
      `select bool_and(number > before) as is_ordered from (
        select p.number, lag(p.number) over (partition by e.idea_id order by p.position) as before
        from event_positions p join events e on e.id = p.event_id where p.board_id = $1
      ) pairs where before is not null`,
      [follower.world.boardId],
    );
    expect(rows).toEqual([{ is_ordered: true }]);
  });

  test("if two requests for a board's events assign list positions to new events at the same time, each event gets exactly one position", async () => {
    const follower = await createFollower();
    const ideaId = await insertIdea(server, follower.world);
    await server.sql(record, recorded(follower, ideaId));
    const positionsIn = async (query: (text: string, values: unknown[]) => Promise<{ position: number }[]>) =>
      query('select position from event_positions where board_id = $1', [follower.world.boardId]);
    const first = await connect(server.url);
    await first.query('begin');
    await first.query('select place_events($1, $2, 10)', [follower.world.accountId, follower.world.boardId]);
    const placed = await positionsIn(async (text, values) => (await first.query(text, values)).rows);
    const second = list(follower);
    await waitForLockWaits(server, 1);
    await first.query('commit');
    expect((await second).body.data).toHaveLength(1);
    const kept = await positionsIn((text, values) => server.sql(text, values));
    expect(kept.map(({ position }) => Number(position))).toEqual(placed.map(({ position }) => Number(position)));
    await first.end();
  });

  test('eight parallel requests for the same new events all get these events in the same order', async () => {
    const follower = await createFollower();
    const ideaId = await insertIdea(server, follower.world);
    for (let n = 0; n < 50; n++) await server.sql(record, recorded(follower, ideaId));
    const pages = await Promise.all(Array.from({ length: 8 }, () => list(follower, { limit: 100 })));
    for (const { body } of pages) expect(body).toEqual(pages[0]?.body);
    expect(pages[0]?.body.data).toHaveLength(50);
  });
});
