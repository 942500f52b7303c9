import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keysIn } from '../../contract/errors.ts';
import { contract } from '../../contract/index.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { contentWrites, createTargets, reads, requestOf } from '../helpers/operations.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const opening = new Date('2026-05-01T08:00:00.000Z');
const closing = new Date('2026-05-31T20:00:00.000Z');
const justBefore = (time: Date) => new Date(time.getTime() - 1);

const clock = testClock(opening);
let world: World;
let ideaId: number;
/**
 * Tokens with different issuer roles and grants. The submission window and the voting window apply to all of these
 * tokens.
 */
let tokens: Record<string, string>;

const server = await startServerForFile({ clock });
beforeEach(async () => {
  clock.set(opening);
  world = await createWorld(server);
  ideaId = await insertIdea(server, world);
  const admin = await createMember(server, world.accountId, 'admin');
  tokens = {
    'the owner, with moderate': (await issueToken(server, world, 'moderate')).token,
    'the owner, with write': (await issueToken(server, world, 'write')).token,
    'an admin, with moderate': (await issueToken(server, world, 'moderate', { issuerId: admin })).token,
    'an admin, with write': (await issueToken(server, world, 'write', { issuerId: admin })).token,
  };
});
afterEach(() => expectInvariants(server));

const setWindow = (column: string, time: Date | null) =>
  server.sql(`update boards set ${column} = $2 where id = $1`, [world.boardId, time]);
const create = (token: string | undefined) =>
  request(server, 'POST /api/v1/ideas', { token, json: { title: 'In time?', body: 'Let us see.' } });
const vote = (token: string | undefined, value = 'up') =>
  request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value } });

const windows = [
  {
    name: 'submission',
    opens: 'submissions_open_at',
    closes: 'submissions_close_at',
    tooEarly: 'submissions_not_open_yet',
    tooLate: 'submissions_closed',
    act: create,
    success: 201,
  },
  {
    name: 'voting',
    opens: 'voting_open_at',
    closes: 'voting_close_at',
    tooEarly: 'voting_not_open_yet',
    tooLate: 'voting_closed',
    act: vote,
    success: 200,
  },
] as const;

describe.each(windows)('the $name window', ({ opens, closes, tooEarly, tooLate, act, success }) => {
  async function refusesEveryone(key: string) {
    for (const [who, token] of Object.entries(tokens)) {
      const untouched = await snapshot(server);
      const answer = await act(token);
      expect([who, answer.status, answer.key]).toEqual([who, 423, key]);
      expect(await snapshot(server)).toEqual(untouched);
    }
  }
  async function admitsEveryone() {
    for (const [who, token] of Object.entries(tokens)) expect([who, (await act(token)).status]).toEqual([who, success]);
  }

  test("a new idea or vote is refused before the opening time of the submission or voting window, even with an owner's token", async () => {
    await setWindow(opens, opening);
    clock.set(justBefore(opening));
    await refusesEveryone(tooEarly);
    clock.set(opening);
    await admitsEveryone();
  });

  test("a new idea or vote is refused at and after the closing time of the submission or voting window, even with an owner's token", async () => {
    await setWindow(closes, closing);
    clock.set(justBefore(closing));
    await admitsEveryone();
    clock.set(closing);
    await refusesEveryone(tooLate);
  });

  test('if a submission or voting window has an opening and a closing time, ideas or votes are accepted only between these times', async () => {
    await setWindow(opens, opening);
    await setWindow(closes, closing);
    for (const [time, key] of [
      [new Date(0), tooEarly],
      [justBefore(opening), tooEarly],
      [opening, undefined],
      [justBefore(closing), undefined],
      [closing, tooLate],
      [new Date('2099-01-01'), tooLate],
    ] as const) {
      clock.set(time);
      const answer = await act(tokens['the owner, with moderate']);
      expect([time, answer.key]).toEqual([time, key]);
    }
  });

  test('a change or removal of an opening or closing time of the submission or voting window takes effect at the next request', async () => {
    const token = tokens['the owner, with write'];
    await setWindow(opens, closing);
    expect((await act(token)).key).toBe(tooEarly);
    await setWindow(opens, null);
    expect((await act(token)).status).toBe(success);
    await setWindow(closes, opening);
    expect((await act(token)).key).toBe(tooLate);
  });
});

test('after the voting window has closed, a token cannot change, remove or repeat its existing vote', async () => {
  const token = tokens['the owner, with write'];
  expect((await vote(token, 'up')).status).toBe(200);
  await setWindow('voting_close_at', opening);
  const untouched = await snapshot(server);
  for (const value of ['up', 'down', 'none']) expect((await vote(token, value)).key).toBe('voting_closed');
  expect(await snapshot(server)).toEqual(untouched);
});

test('the voting window does not affect submissions, and the submission window does not affect votes or comments', async () => {
  const token = tokens['the owner, with write'];
  await setWindow('voting_close_at', opening);
  expect((await create(token)).status).toBe(201);
  await setWindow('voting_close_at', null);
  await setWindow('submissions_close_at', opening);
  expect((await vote(token)).status).toBe(200);
  const comment = await request(server, `POST /api/v1/ideas/${ideaId}/comments`, {
    token,
    json: { body: 'Still here.' },
  });
  expect(comment.status).toBe(201);
});

test('a new idea or vote on a frozen board gets the error board_frozen even if the submission or voting window is closed', async () => {
  const token = tokens['the owner, with write'];
  await server.sql(
    'update boards set is_frozen = true, submissions_close_at = $2, voting_close_at = $2 where id = $1',
    [world.boardId, opening],
  );
  expect([(await create(token)).key, (await vote(token)).key]).toEqual(['board_frozen', 'board_frozen']);
});

/**
 * Sends every read request with every token. Returns the HTTP statuses and the bodies. Leaves out the board and the
 * cursors of events, because they change.
 */
async function readEverything(): Promise<[string, number, unknown][]> {
  const targets = {
    ideaId,
    targetId: ideaId,
    mergedId: ideaId,
    tagId: 0,
    assignedTagId: 0,
    spareId: ideaId,
    commentedId: ideaId,
    commentId: 0,
    noteId: 0,
    webhookId: 0,
    deliveryId: 0,
    spareWebhookId: 0,
  };
  const answers: [string, number, unknown][] = [];
  for (const [who, token] of Object.entries(tokens)) {
    for (const operation of reads.filter(({ capability }) => capability === null)) {
      if (operation.grant === 'moderate' && !who.endsWith('moderate')) continue;
      const { line } = requestOf(operation, targets);
      const { status, body }: Answer = await request(server, line, { token });
      const changing = { getBoard: { board: null }, listEvents: { next_cursor: null } }[operation.id as string];
      answers.push([line, status, { ...body, ...changing }]);
    }
  }
  return answers;
}

test('requests that read data work outside the submission and voting windows and on a frozen board', async () => {
  const asEver = await readEverything();
  expect(asEver.map(([, status]) => status)).toEqual(Array(asEver.length).fill(200));
  await setWindow('submissions_open_at', opening);
  await setWindow('voting_open_at', opening);
  clock.set(justBefore(opening));
  expect(await readEverything()).toEqual(asEver);
  await setWindow('submissions_close_at', closing);
  await setWindow('voting_close_at', closing);
  clock.set(closing);
  expect(await readEverything()).toEqual(asEver);
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  expect(await readEverything()).toEqual(asEver);
});

describe.each(contentWrites)('the operation $method $path on a frozen board', operation => {
  test('a frozen board refuses every write by any token, and accepts the write again after the board is unfrozen', async () => {
    const { line, json } = requestOf(operation, await createTargets(server, world));
    // Before the freeze, the server checks who may change a text. The owner is the author of all texts.
    const isForAuthors = Object.values(contract[operation.id].responses).flatMap(keysIn).includes('not_author');
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    const untouched = await snapshot(server);
    for (const [who, token] of Object.entries(tokens)) {
      if (operation.grant === 'moderate' && !who.endsWith('moderate')) continue;
      const answer = await request(server, line, { token, json });
      const refusal = isForAuthors && who === 'an admin, with write' ? [403, 'not_author'] : [423, 'board_frozen'];
      expect([who, answer.status, answer.key]).toEqual([who, ...refusal]);
    }
    expect(await snapshot(server)).toEqual(untouched);

    await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    const answer = await request(server, line, { token: tokens['the owner, with moderate'], json });
    expect(answer.status).toBeLessThan(300);
    expect(await snapshot(server)).not.toEqual(untouched);
  });
});

test('a frozen board refuses even a vote, a status change, an unmerge or a tag removal that would change nothing', async () => {
  const token = tokens['the owner, with moderate'];
  await vote(token, 'up');
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  for (const [line, json] of [
    [`POST /api/v1/ideas/${ideaId}/vote`, { value: 'up' }],
    [`POST /api/v1/ideas/${ideaId}/status`, { status: 'open' }],
    [`POST /api/v1/ideas/${ideaId}/unmerge`, undefined],
    [`DELETE /api/v1/ideas/${ideaId}/tags/1`, undefined],
  ] as const) {
    expect((await request(server, line, { token, json })).key).toBe('board_frozen');
  }
});
