import { afterEach, describe, expect, test } from 'vitest';
import { type ErrorKey, meaningOf, mergeMeanings } from '../../contract/errors.ts';
import { createBoard, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { logStatements } from '../helpers/statement-log.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'moderate');
/** The tokens of six voters. Each token is a separate voter. */
const voters = await Promise.all(
  Array.from({ length: 6 }, async () => (await issueToken(server, world, 'write')).token),
);
afterEach(() => expectInvariants(server));

const merge = (ideaId: number, targetId: unknown, by = token) =>
  request(server, `POST /api/v1/ideas/${ideaId}/merge`, { token: by, json: { target_id: targetId } });
const unmerge = (ideaId: number, by = token) => request(server, `POST /api/v1/ideas/${ideaId}/unmerge`, { token: by });
const vote = (ideaId: number, voter: number, value: 'up' | 'down' | 'none') =>
  request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token: voters[voter], json: { value } });
const read = async (ideaId: number, by = token) =>
  (await request(server, `GET /api/v1/ideas/${ideaId}`, { token: by })).body;
const tally = async (ideaId: number) => {
  const { up_count, down_count, score } = await read(ideaId);
  return { up_count, down_count, score };
};
/** Returns the votes of all voters on an idea. */
const votes = (ideaId: number) => Promise.all(voters.map(async by => (await read(ideaId, by)).my_vote));

/**
 * Inserts an idea with votes. The first value is the vote of the first voter, and so on. The value `none` means that
 * the voter has not voted.
 */
async function idea(...values: ('up' | 'down' | 'none')[]) {
  const ideaId = await insertIdea(server, world);
  for (const [voter, value] of values.entries()) {
    if (value !== 'none') expect((await vote(ideaId, voter, value)).status).toBe(200);
  }
  return ideaId;
}

test('a merge counts one vote for each voter, and if a voter voted on both ideas, the vote on the target idea counts', async () => {
  const source = await idea('up', 'down', 'up', 'down');
  const target = await idea('none', 'none', 'down', 'up', 'up');
  const answer = await merge(source, target);
  expect(answer.status).toBe(200);
  expect(answer.body.idea).toMatchObject({ id: source, merged_into_id: target, up_count: 2, down_count: 2, score: 0 });
  expect(answer.body.target).toMatchObject({ id: target, merged_into_id: null, up_count: 3, down_count: 2, score: 1 });
  expect(await votes(target)).toEqual(['up', 'down', 'down', 'up', 'up', 'none']);
  expect(await read(target)).toEqual(answer.body.target);
  expect(await read(source)).toEqual(answer.body.idea);
  const merges = await server.sql('select target_id, unmerged_at from merges where source_id = $1', [source]);
  expect(merges).toEqual([{ target_id: target, unmerged_at: null }]);
});

test('an unmerge right after a merge restores the vote counts of both ideas and every single vote', async () => {
  const source = await idea('up', 'down', 'up', 'down', 'none', 'up');
  const target = await idea('none', 'none', 'down', 'up', 'up');
  const before = {
    source: await read(source),
    target: await read(target),
    ofSource: await votes(source),
    ofTarget: await votes(target),
  };
  const rows = () =>
    server.sql('select idea_id, voter_id, value, created_at from votes where idea_id = any($1) order by 1, 2', [
      [source, target],
    ]);
  const rowsBefore = await rows();
  await merge(source, target);
  expect(await rows()).not.toEqual(rowsBefore);
  const answer = await unmerge(source);
  expect(answer.status).toBe(200);
  expect(answer.body.idea).toEqual({ ...before.source, updated_at: answer.body.idea.updated_at });
  expect(answer.body.target).toEqual(before.target);
  expect(await votes(source)).toEqual(before.ofSource);
  expect(await votes(target)).toEqual(before.ofTarget);
  expect(await rows()).toEqual(rowsBefore);
  const merges = await server.sql('select unmerged_at from merges where source_id = $1', [source]);
  expect(merges).toEqual([{ unmerged_at: expect.any(String) }]);
});

test('a merged idea disappears from the list of ideas, and the response for the merged idea itself contains the id of the target', async () => {
  const source = await idea();
  const target = await idea();
  const listed = async () => {
    const { body } = await request(server, 'GET /api/v1/ideas?per_page=100', { token });
    return body.data.map(({ id }: { id: number }) => id);
  };
  expect(await listed()).toEqual(expect.arrayContaining([source, target]));
  await merge(source, target);
  expect(await listed()).not.toContain(source);
  expect(await listed()).toContain(target);
  expect((await read(source)).merged_into_id).toBe(target);
  await unmerge(source);
  expect(await listed()).toContain(source);
});

test('a vote on a merged idea gets 404 and changes nothing', async () => {
  const source = await idea('up');
  const target = await idea();
  await merge(source, target);
  const before = await snapshot(server);
  for (const value of ['up', 'down', 'none'] as const) {
    const answer = await vote(source, 0, value);
    expect([answer.status, answer.key]).toEqual([404, 'not_found']);
  }
  expect(await snapshot(server)).toEqual(before);
});

test('after an idea is merged, its votes count on the target idea, and each voter can change or withdraw their vote there', async () => {
  const source = await idea('up', 'up', 'up');
  const target = await idea();
  await merge(source, target);
  expect((await read(target, voters[0])).my_vote).toBe('up');
  const repeated = await vote(target, 0, 'up');
  expect(repeated.body).toEqual({ score: 3, my_vote: 'up', up_count: 3, down_count: 0 });
  const changed = await vote(target, 1, 'down');
  expect(changed.body).toEqual({ score: 1, my_vote: 'down', up_count: 2, down_count: 1 });
  const withdrawn = await vote(target, 2, 'none');
  expect(withdrawn.body).toEqual({ score: 0, my_vote: 'none', up_count: 1, down_count: 1 });
  expect(await votes(target)).toEqual(['up', 'down', 'none', 'none', 'none', 'none']);

  await unmerge(source);
  expect(await votes(source)).toEqual(['up', 'up', 'up', 'none', 'none', 'none']);
  // The first voter has also voted on the target. So their vote is now a direct vote on the target, and stays after the
  // unmerge.
  expect(await votes(target)).toEqual(['up', 'down', 'none', 'none', 'none', 'none']);
  expect(await tally(target)).toEqual({ up_count: 1, down_count: 1, score: 0 });
});

test("a voter's withdrawn vote on the target of a merge stays withdrawn if another idea with this voter's vote is merged into the target", async () => {
  const first = await idea('up');
  const second = await idea('down');
  const target = await idea('up');
  await merge(first, target);
  await vote(target, 0, 'none');
  expect(await tally(target)).toEqual({ up_count: 0, down_count: 0, score: 0 });
  await merge(second, target);
  expect(await votes(target)).toEqual(Array(6).fill('none'));
  await unmerge(first);
  expect(await votes(target)).toEqual(Array(6).fill('none'));
  // After the last unmerge, no other vote of this voter could replace the withdrawn vote. So the server deletes the row
  // of the withdrawn vote.
  await unmerge(second);
  expect(await server.sql('select value from votes where idea_id = $1', [target])).toEqual([]);
  await merge(second, target);
  expect((await read(target, voters[0])).my_vote).toBe('down');
});

test('if a voter voted on several ideas that are merged into one target idea, only their vote on the idea that was merged first counts', async () => {
  const first = await idea('up', 'up');
  const second = await idea('down', 'none', 'down');
  const target = await idea();
  await merge(second, target);
  await merge(first, target);
  expect(await votes(target)).toEqual(['down', 'up', 'down', 'none', 'none', 'none']);
  expect(await tally(target)).toEqual({ up_count: 1, down_count: 2, score: -1 });
  // The first voter voted on both ideas. After the unmerge of the idea that was merged first, their vote on the other
  // idea counts.
  await unmerge(second);
  expect(await votes(target)).toEqual(['up', 'up', 'none', 'none', 'none', 'none']);
  await merge(second, target);
  expect(await votes(target)).toEqual(['up', 'up', 'down', 'none', 'none', 'none']);
});

describe('a chain of merges', () => {
  test('if ideas are merged in a chain, the last idea counts one vote for each voter of the ideas in the chain', async () => {
    const a = await idea('up', 'up', 'up');
    const b = await idea('down', 'none', 'none', 'up');
    const c = await idea('none', 'down', 'none', 'none', 'up');
    await merge(a, b);
    expect(await tally(b)).toEqual({ up_count: 3, down_count: 1, score: 2 });
    await merge(b, c);
    expect(await votes(c)).toEqual(['down', 'down', 'up', 'up', 'up', 'none']);
    expect(await tally(c)).toEqual({ up_count: 3, down_count: 2, score: 1 });

    // An unmerge in the middle of a chain of merges also changes the tally of the chain's last idea.
    await unmerge(a);
    expect(await votes(b)).toEqual(['down', 'none', 'none', 'up', 'none', 'none']);
    expect(await votes(c)).toEqual(['down', 'down', 'none', 'up', 'up', 'none']);
    await unmerge(b);
    expect(await votes(c)).toEqual(['none', 'down', 'none', 'none', 'up', 'none']);
    expect(await votes(a)).toEqual(['up', 'up', 'up', 'none', 'none', 'none']);
  });

  test('undoing all merges in a chain of merged ideas in reverse order restores the votes on all these ideas', async () => {
    const a = await idea('up');
    const b = await idea('none', 'up');
    const c = await idea('none', 'none', 'up');
    const before = await Promise.all([a, b, c].map(votes));
    await merge(a, b);
    await merge(b, c);
    expect(await tally(c)).toEqual({ up_count: 3, down_count: 0, score: 3 });
    await unmerge(b);
    expect(await tally(c)).toEqual({ up_count: 1, down_count: 0, score: 1 });
    expect(await tally(b)).toEqual({ up_count: 2, down_count: 0, score: 2 });
    await unmerge(a);
    expect(await Promise.all([a, b, c].map(votes))).toEqual(before);
  });

  test('a merge is rejected if it would form a circle of ideas that are merged into each other', async () => {
    const [a, b, c] = [await idea('up'), await idea(), await idea()];
    await merge(a, b);
    await merge(b, c);
    for (const target of [a, b]) expect((await merge(c, target)).key).toBe('idea_already_merged');
  });

  test('if a hundred ideas are merged in a chain, votes on two of these ideas count on the last idea', async () => {
    const ideas: number[] = [];
    for (let n = 0; n < 100; n++) ideas.push(await insertIdea(server, world));
    await vote(ideas[0] ?? 0, 0, 'up');
    await vote(ideas[50] ?? 0, 1, 'down');
    for (let n = 0; n + 1 < ideas.length; n++) expect((await merge(ideas[n] ?? 0, ideas[n + 1])).status).toBe(200);
    expect(await votes(ideas[99] ?? 0)).toEqual(['up', 'down', 'none', 'none', 'none', 'none']);
    await unmerge(ideas[25] ?? 0);
    expect(await votes(ideas[99] ?? 0)).toEqual(['none', 'down', 'none', 'none', 'none', 'none']);
  });
});

test('repeating a merge changes nothing, and unmerging an idea that is not merged changes nothing', async () => {
  const source = await idea('up');
  const target = await idea('down');
  const unmerged = await snapshot(server);
  const nothing = await unmerge(source);
  expect([nothing.status, nothing.body.target]).toEqual([200, null]);
  expect(nothing.body.idea).toEqual(await read(source));
  expect(await snapshot(server)).toEqual(unmerged);

  const first = await merge(source, target);
  const merged = await snapshot(server);
  const again = await merge(source, target);
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(await snapshot(server)).toEqual(merged);
});

test('repeating a merge changes nothing, even if the target has since been merged into another idea', async () => {
  const [a, b, c] = [await idea('up'), await idea(), await idea()];
  await merge(a, b);
  await merge(b, c);
  const before = await snapshot(server);
  const again = await merge(a, b);
  expect([again.status, again.body.target.merged_into_id]).toEqual([200, c]);
  expect(await snapshot(server)).toEqual(before);
});

describe('rejected merges', () => {
  async function refuses(ideaId: number, targetId: number, status: number, key: ErrorKey) {
    const before = await snapshot(server);
    const answer = await merge(ideaId, targetId);
    expect([answer.status, answer.key]).toEqual([status, key]);
    expect(answer.body.error.message).toBe(meaningOf(key, mergeMeanings));
    expect(await snapshot(server)).toEqual(before);
  }

  test('a merge of an idea into itself is rejected and changes nothing', async () => {
    const ideaId = await idea('up');
    await refuses(ideaId, ideaId, 422, 'merge_into_self');
  });

  test('a merge of an already merged idea is rejected and changes nothing', async () => {
    const [source, target, other] = [await idea(), await idea(), await idea()];
    await merge(source, target);
    await refuses(source, other, 422, 'idea_already_merged');
  });

  test('a merge into a merged idea is rejected and changes nothing', async () => {
    const [source, target, other] = [await idea(), await idea(), await idea()];
    await merge(target, other);
    await refuses(source, target, 422, 'idea_already_merged');
  });

  test('a merge is rejected and changes nothing if one of the two ideas is pending', async () => {
    const published = await idea();
    const pending = await insertIdea(server, world, { moderationState: 'pending' });
    await refuses(pending, published, 422, 'idea_not_published');
    await refuses(published, pending, 422, 'idea_not_published');
  });

  test('a merge is rejected and changes nothing if one of the two ideas is rejected or missing', async () => {
    const published = await idea();
    const rejected = await insertIdea(server, world, { moderationState: 'rejected' });
    for (const missing of [rejected, 999_999_999]) {
      await refuses(missing, published, 404, 'not_found');
      await refuses(published, missing, 404, 'not_found');
      await refuses(missing, missing, 404, 'not_found');
    }
  });

  test('a merge of ideas on different boards is rejected and changes nothing, even with a token that moderates both boards', async () => {
    const sibling = await createBoard(server, world.accountId);
    const there = await insertIdea(server, { ...world, boardId: sibling.id });
    const here = await idea('up');
    await refuses(here, there, 404, 'not_found');
    const both = await issueToken(server, world, { [world.boardId]: 'moderate', [sibling.id]: 'moderate' });
    const before = await snapshot(server);
    for (const [slug, ideaId, targetId] of [
      [world.boardSlug, here, there],
      [sibling.slug, here, there],
      [sibling.slug, there, here],
    ] as const) {
      const answer = await request(server, `POST /api/v1/ideas/${ideaId}/merge?board=${slug}`, {
        token: both.token,
        json: { target_id: targetId },
      });
      expect([answer.status, answer.key]).toEqual([404, 'not_found']);
    }
    expect(await snapshot(server)).toEqual(before);
  });

  test('a merge or unmerge by a token with the write grant is rejected and changes nothing', async () => {
    const [source, target] = [await idea(), await idea()];
    await merge(source, target);
    const other = await idea();
    const before = await snapshot(server);
    for (const answer of [await merge(other, target, voters[0]), await unmerge(source, voters[0])]) {
      expect([answer.status, answer.key]).toEqual([403, 'insufficient_scope']);
    }
    expect(await snapshot(server)).toEqual(before);
  });
});

test('an unmerge of a missing idea gets 404, and an unmerge of a pending idea gets 200 with null as the target', async () => {
  const pending = await insertIdea(server, world, { moderationState: 'pending' });
  expect((await unmerge(999_999_999)).key).toBe('not_found');
  const answer = await unmerge(pending);
  expect([answer.status, answer.body.idea.id, answer.body.target]).toEqual([200, pending, null]);
});

test('when two ideas are merged into each other at the same time, one merge succeeds and the other gets idea_already_merged', async () => {
  for (let round = 0; round < 10; round++) {
    const a = await idea('up');
    const b = await idea('down', 'up');
    const answers = await Promise.all([merge(a, b), merge(b, a)]);
    const [won, lost] = answers[0].status === 200 ? answers : [...answers].reverse();
    expect([won?.status, lost?.status, lost?.key]).toEqual([200, 422, 'idea_already_merged']);
    const target = won === answers[0] ? b : a;
    expect((await read(target)).merged_into_id).toBeNull();
    expect(await tally(target)).toEqual(
      target === b ? { up_count: 1, down_count: 1, score: 0 } : { up_count: 2, down_count: 0, score: 2 },
    );
  }
  expect(server.logLines.filter(line => line.includes('deadlock'))).toEqual([]);
});

test('two merges of the same two ideas in opposite directions lock the ideas in the same order and do not deadlock', async () => {
  const first = await idea();
  const second = await idea();
  const holder = await server.database.pool.connect();
  const { result, statements } = await logStatements(async () => {
    try {
      await holder.query('begin');
      await holder.query('select from ideas where id = $1 for update', [second]);
      // If each merge locked its own source idea first, the two merges would deadlock.
      const backwards = merge(second, first);
      await waitForLockWaits(server, 1);
      const forwards = merge(first, second);
      await waitForLockWaits(server, 2);
      await holder.query('commit');
      return await Promise.all([backwards, forwards]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });
  expect(result.map(({ status }) => status)).toEqual([200, 422]);
  // `holder` and the two merges began exactly one transaction each. So the server did not have to retry a merge because
  // of a deadlock.
  expect(statements.filter(({ text }) => text === 'begin')).toHaveLength(3);
});

test('while an unmerge waits for the lock on an idea that a concurrent merge added to the chain, it holds no lock on other ideas', async () => {
  const [target, source, middle] = [await idea(), await idea('up'), await idea('down', 'up')];
  await merge(source, middle);
  const [first, second] = [await server.database.pool.connect(), await server.database.pool.connect()];
  /** Waits until exactly one other transaction waits for a lock that the connection `client` holds. */
  const isWaitedFor = async (client: typeof first) => {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const blocked = 'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))';
    await expect.poll(() => server.sql(blocked, [rows[0].pid]), { timeout: 10_000 }).toHaveLength(1);
  };
  try {
    await first.query('begin');
    await first.query('select from ideas where id = $1 for update', [source]);
    const unmerging = unmerge(source);
    await isWaitedFor(first);
    expect((await merge(middle, target)).status).toBe(200);
    await second.query('begin');
    await second.query('select from ideas where id = $1 for update', [target]);
    await first.query('commit');
    await isWaitedFor(second);
    // Because of `nowait`, this statement fails if the waiting unmerge already holds a lock on one of the two ideas.
    await second.query('select from ideas where id = any($1) for update nowait', [[source, middle]]);
    await second.query('commit');
    expect(await unmerging).toMatchObject({ status: 200, body: { idea: { merged_into_id: null } } });
  } finally {
    for (const client of [first, second]) {
      await client.query('rollback');
      client.release();
    }
  }
  expect(await tally(target)).toEqual({ up_count: 1, down_count: 1, score: 0 });
});

test('six concurrent merges that together would form a circle get 200 or idea_already_merged, and create no circle', async () => {
  for (let round = 0; round < 5; round++) {
    const ring = await Promise.all(Array.from({ length: 6 }, () => idea('up')));
    const answers = await Promise.all(ring.map((ideaId, n) => merge(ideaId, ring[(n + 1) % ring.length])));
    for (const answer of answers) {
      expect([undefined, 'idea_already_merged']).toContain(answer.key);
      expect([200, 422]).toContain(answer.status);
    }
    const merged = await Promise.all(ring.map(async ideaId => (await read(ideaId)).merged_into_id));
    expect(merged.filter(id => id !== null)).toHaveLength(answers.filter(({ status }) => status === 200).length);
    expect(merged).toContain(null);
    await expectInvariants(server);
  }
});

test('exactly one of several concurrent merges of one idea into different targets succeeds', async () => {
  const source = await idea('up', 'down');
  const targets = await Promise.all(Array.from({ length: 8 }, () => idea()));
  const answers = await Promise.all(targets.map(target => merge(source, target)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(422)]);
  const tallies = await Promise.all(targets.map(tally));
  expect(tallies.filter(({ up_count }) => up_count === 1)).toHaveLength(1);
  expect(tallies.filter(({ up_count }) => up_count === 0)).toHaveLength(7);
});

test('votes that arrive during merges and unmerges are neither lost nor counted twice', async () => {
  const source = await idea();
  const target = await idea();
  const switching = (async () => {
    for (let round = 0; round < 8; round++) {
      expect((await merge(source, target)).status).toBe(200);
      expect((await unmerge(source)).status).toBe(200);
    }
  })();
  /** For each idea, the last vote of each voter that the server has accepted. */
  const accepted = { [source]: Array(6).fill('none'), [target]: Array(6).fill('none') };
  const values = ['up', 'down', 'none', 'up', 'down', 'up'] as const;
  const voting = voters.map(async (_, voter) => {
    for (let round = 0; round < 8; round++) {
      for (const ideaId of [source, target]) {
        const value = values[(round + voter) % values.length] ?? 'up';
        const answer = await vote(ideaId, voter, value);
        expect(answer.status === 200 || (answer.status === 404 && ideaId === source)).toBe(true);
        const own = accepted[ideaId];
        if (answer.status === 200 && own) own[voter] = value;
      }
    }
  });
  await Promise.all([switching, ...voting]);
  expect(await votes(source)).toEqual(accepted[source]);
  expect(await votes(target)).toEqual(accepted[target]);
});

test('concurrent unmerges of all ideas in a chain of merged ideas succeed, even while a merge makes the chain longer', async () => {
  for (let round = 0; round < 3; round++) {
    const chain = await Promise.all(Array.from({ length: 8 }, () => idea('up')));
    for (let n = 0; n + 1 < chain.length; n++) await merge(chain[n] ?? 0, chain[n + 1]);
    const more = await idea('down');
    const answers = await Promise.all([
      ...chain.map(ideaId => unmerge(ideaId)),
      merge(chain.at(-1) ?? 0, more),
      ...chain.map(ideaId => unmerge(ideaId)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(Array(answers.length).fill(200));
    await expectInvariants(server);
  }
});
