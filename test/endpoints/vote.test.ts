import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';

const now = '2026-03-14T09:26:53.589Z';
const clock = testClock(now);

let world: World;
let ideaId: number;
let token: string;
let tokenId: number;

const server = await startServer({ clock });
beforeEach(async () => {
  clock.set(now);
  world = await createWorld(server);
  ideaId = await insertIdea(server, world);
  ({ token, id: tokenId } = await issueToken(server, world, 'write'));
});
afterAll(async () => {
  await expectInvariants(server);
  await server.close();
});

type Value = 'up' | 'down' | 'none';

const vote = (value: unknown, by = token, id = ideaId) =>
  request(server, `POST /api/v1/ideas/${id}/vote`, { token: by, json: { value } });
const tally = (up_count: number, down_count: number, my_vote: Value) => ({
  score: up_count - down_count,
  my_vote,
  up_count,
  down_count,
});
const votes = (id = ideaId) =>
  server.sql<{ value: number }>('select value from votes where idea_id = $1 order by voter_id', [id]);

/** Returns the stored tally of an idea and, for comparison, the numbers of stored votes on the idea. */
async function tallies(id = ideaId) {
  const [row] = await server.sql(
    `select i.up_count, i.down_count, i.score,
      count(*) filter (where v.value = 1) as ups, count(*) filter (where v.value = -1) as downs
    from ideas i left join votes v on v.idea_id = i.id where i.id = $1 group by i.account_id, i.id`,
    [id],
  );
  return row;
}

describe('the vote of a token', () => {
  const tallyOf: Record<Value, [number, number]> = { up: [1, 0], down: [0, 1], none: [0, 0] };
  const values: Value[] = ['none', 'up', 'down'];
  const changes = values.flatMap(from => values.map(to => ({ from, to })));

  test.each(changes)('the vote "$to" of a token replaces its earlier vote "$from"', async ({ from, to }) => {
    expect(await vote(from)).toMatchObject({ status: 200, body: tally(...tallyOf[from], from) });
    const answer = await vote(to);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(tally(...tallyOf[to], to));
    expect(await votes()).toEqual(to === 'none' ? [] : [{ value: to === 'up' ? 1 : -1 }]);
    const [up_count, down_count] = tallyOf[to];
    expect((await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).body).toMatchObject({
      up_count,
      down_count,
      score: up_count - down_count,
      my_vote: to,
    });
  });

  test('repeating a vote with the same value does not change the database rows of the vote and the idea', async () => {
    const row = () => server.sql('select xmin, created_at, value from votes where idea_id = $1', [ideaId]);
    await vote('up');
    const [before, idea] = [await row(), await server.sql('select xmin from ideas where id = $1', [ideaId])];
    clock.advance(1000);
    await vote('up');
    expect(await row()).toEqual(before);
    expect(await server.sql('select xmin from ideas where id = $1', [ideaId])).toEqual(idea);
  });

  test('a vote does not change the time `updated_at` of the idea', async () => {
    const before = (await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).body.updated_at;
    await vote('up');
    expect((await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).body.updated_at).toBe(before);
  });

  test('two tokens of the same issuer and the issuer in person are three separate voters', async () => {
    const other = await issueToken(server, world, 'write');
    await vote('up');
    expect((await vote('up', other.token)).body).toEqual(tally(2, 0, 'up'));
    await server.sql(
      `with voter as (insert into voters (account_id, user_id) values ($1, $2) returning id)
      insert into votes (idea_id, voter_id, account_id, value) select $3, id, $1, 1 from voter`,
      [world.accountId, world.ownerId, ideaId],
    );
    await server.sql('update ideas set up_count = up_count + 1 where id = $1', [ideaId]);
    expect((await vote('down', other.token)).body).toEqual(tally(2, 1, 'down'));
    expect((await vote('none')).body).toEqual(tally(1, 1, 'none'));
    expect(await votes()).toHaveLength(2);
  });

  test('the vote of a revoked token still counts, and other tokens can still vote', async () => {
    await vote('up');
    await server.sql('update api_tokens set revoked_at = $2 where id = $1', [tokenId, clock.now()]);
    expect((await vote('none')).status).toBe(401);
    const other = await issueToken(server, world, 'write');
    expect((await vote('down', other.token)).body).toEqual(tally(1, 1, 'down'));
    expect(await votes()).toHaveLength(2);
  });

  test('a vote on one idea does not change the vote counts of another idea', async () => {
    const second = await insertIdea(server, world);
    await vote('up');
    expect((await vote('down', token, second)).body).toEqual(tally(0, 1, 'down'));
    expect((await vote('up')).body).toEqual(tally(1, 0, 'up'));
  });
});

test.each([undefined, null, '', 'UP', 'sideways', 1, -1, 0, true, ['up'], {}])(
  'a vote with the value %j is rejected, and nothing is stored',
  async value => {
    const answer = await vote(value);
    expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
    expect(answer.body.error.issues).toMatchObject([{ path: ['body', 'value'] }]);
    expect(await votes()).toEqual([]);
  },
);

describe('votes on ideas in different states', () => {
  const refused = async (status: number, key: string, by = token) => {
    for (const value of ['up', 'down', 'none']) {
      expect([value, await vote(value, by)]).toMatchObject([value, { status, key }]);
    }
  };

  test('a vote on a pending or rejected idea gets 404, even with the moderate grant', async () => {
    const moderator = await issueToken(server, world, 'moderate');
    for (const state of ['pending', 'rejected']) {
      await server.sql('update ideas set moderation_state = $2 where id = $1', [ideaId, state]);
      await refused(404, 'not_found');
      await refused(404, 'not_found', moderator.token);
    }
    expect(await votes()).toEqual([]);
  });

  test('a vote on a merged idea gets 404 until the idea is unmerged', async () => {
    const target = await insertIdea(server, world);
    const { token: moderator } = await issueToken(server, world, 'moderate');
    const json = { target_id: target };
    await request(server, `POST /api/v1/ideas/${ideaId}/merge`, { token: moderator, json });
    await refused(404, 'not_found');
    await request(server, `POST /api/v1/ideas/${ideaId}/unmerge`, { token: moderator });
    expect((await vote('up')).status).toBe(200);
  });

  test("a vote on an idea gets 404 if the idea is missing or is not on the token's board", async () => {
    const elsewhere = await insertIdea(server, await createWorld(server));
    for (const id of [999_999_999, elsewhere]) {
      expect(await vote('up', token, id)).toMatchObject({ status: 404, key: 'not_found' });
    }
    expect(await votes(elsewhere)).toEqual([]);
  });

  test('a vote on an idea whose status is closed for votes gets 423, and the existing votes are kept', async () => {
    await vote('up');
    await server.sql(`update statuses set allow_votes = false where board_id = $1 and key = 'open'`, [world.boardId]);
    await refused(423, 'status_votes_closed');
    expect(await votes()).toEqual([{ value: 1 }]);
    const other = await insertIdea(server, world, { status: 'planned' });
    expect((await vote('up', token, other)).status).toBe(200);
  });

  test('a vote on a frozen board gets 423', async () => {
    await vote('up');
    await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
    await refused(423, 'board_frozen');
    expect(await votes()).toEqual([{ value: 1 }]);
  });

  test('a board accepts votes from the opening time of its voting window until the closing time, exact to the millisecond', async () => {
    await server.sql('update boards set voting_open_at = $2, voting_close_at = $3 where id = $1', [
      world.boardId,
      '2026-03-14T10:00:00.000Z',
      '2026-03-14T11:00:00.000Z',
    ]);
    const { token: owner } = await issueToken(server, world, 'moderate');
    for (const [time, status, key] of [
      ['2026-03-14T09:59:59.999Z', 423, 'voting_not_open_yet'],
      ['2026-03-14T10:00:00.000Z', 200, undefined],
      ['2026-03-14T10:59:59.999Z', 200, undefined],
      ['2026-03-14T11:00:00.000Z', 423, 'voting_closed'],
    ] as const) {
      clock.set(time);
      for (const by of [token, owner]) {
        for (const value of ['up', 'none']) {
          const answer = await vote(value, by);
          expect([time, answer.status, answer.key]).toEqual([time, status, key]);
        }
      }
      expect((await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).status).toBe(200);
    }
    expect(await votes()).toEqual([]);
  });

  test('a token can vote while the submission window is closed', async () => {
    await server.sql('update boards set submissions_close_at = $2 where id = $1', [world.boardId, new Date(0)]);
    expect((await vote('up')).status).toBe(200);
  });
});

describe('concurrent votes', () => {
  test('the vote counts of an idea are exact after 200 concurrent votes by 200 tokens', async () => {
    const tokens = await Promise.all([...Array(200)].map(() => issueToken(server, world, 'write')));
    const value = (n: number): Value => (n % 4 === 0 ? 'down' : 'up');
    const answers = await Promise.all(tokens.map(({ token: by }, n) => vote(value(n), by)));
    expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200));
    expect(await tallies()).toEqual({ up_count: 150, down_count: 50, score: 100, ups: 150, downs: 50 });
    // The server counts the votes one after another, so each response must show a different number of votes.
    const steps = new Set(answers.map(({ body }) => body.up_count + body.down_count));
    expect(steps.size).toBe(200);
  });

  test('the vote counts of an idea are exact after 200 concurrent votes by one token', async () => {
    const values: Value[] = ['up', 'down', 'none', 'up', 'down'];
    const answers = await Promise.all([...Array(200).keys()].map(n => vote(values[n % values.length])));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toEqual(
        tally(body.my_vote === 'up' ? 1 : 0, body.my_vote === 'down' ? 1 : 0, body.my_vote as Value),
      );
    }
    const [last] = await votes();
    const row = await tallies();
    expect(row).toEqual({
      up_count: last?.value === 1 ? 1 : 0,
      down_count: last?.value === -1 ? 1 : 0,
      score: last?.value ?? 0,
      ups: last?.value === 1 ? 1 : 0,
      downs: last?.value === -1 ? 1 : 0,
    });
  });

  test('the vote counts of several ideas are exact after many tokens have concurrently cast, changed and withdrawn votes', async () => {
    const ideas = [ideaId, await insertIdea(server, world), await insertIdea(server, world)];
    const tokens = await Promise.all([...Array(10)].map(() => issueToken(server, world, 'write')));
    const values: Value[] = ['up', 'down', 'none', 'down', 'up'];
    await Promise.all([...Array(200).keys()].map(n => vote(values[n % 5], tokens[(n * 7) % 10]?.token, ideas[n % 3])));
    for (const id of ideas) {
      const row = await tallies(id);
      expect(row).toMatchObject({ up_count: row?.ups, down_count: row?.downs });
    }
    await expectInvariants(server);
  });
});
