import { beforeEach, expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken, type World } from '../../helpers/fixtures.ts';
import { expectInvariants } from '../../helpers/invariants.ts';
import { request } from '../../helpers/request.ts';
import { startServerForFile } from '../../helpers/server.ts';
import { logStatements } from '../../helpers/statement-log.ts';

/**
 * The number of votes on the source idea. This number is high enough that a merge copies the votes in several batches.
 */
const manyVotes = 2_500;

let world: World;
let token: string;
let source: number;
let target: number;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'moderate'));
  source = await insertIdea(server, world, { title: 'The source' });
  target = await insertIdea(server, world, { title: 'The target' });
  await server.sql(
    `with voter as (insert into voters (account_id) select $1 from generate_series(1, $3) returning id)
    insert into votes (idea_id, voter_id, account_id, value)
    select $2, id, $1, case when id % 5 = 0 then -1 else 1 end from voter`,
    [world.accountId, source, manyVotes],
  );
  await server.sql('select carry_votes($1, $2)', [world.accountId, source]);
});

const post = (path: string, json?: unknown) => request(server, `POST /api/v1/ideas/${path}`, { token, json });
const merge = () => post(`${source}/merge`, { target_id: target });
const read = async (id: number) => (await request(server, `GET /api/v1/ideas/${id}`, { token })).body;
const rowsOf = (id: number) =>
  server.sql('select voter_id, value, carried_from_id, created_at from votes where idea_id = $1 order by 1', [id]);

test("a merge of an idea with many votes copies the votes in batches before its transaction begins, and an unmerge restores both ideas' votes", async () => {
  await post(`${target}/vote`, { value: 'down' });
  const before = { source: await rowsOf(source), target: await rowsOf(target) };
  const tally = await read(source);
  const { result, statements } = await logStatements(merge);
  expect(result.status).toBe(200);
  expect(result.body.target).toMatchObject({ up_count: tally.up_count, down_count: tally.down_count + 1 });

  const texts = statements.map(({ text }) => text);
  const copies = texts.flatMap((text, n) => (text.startsWith('select copy_votes') ? [n] : []));
  expect(copies).toHaveLength(Math.ceil(manyVotes / 1_000) + 1);
  expect(Math.max(...copies)).toBeLessThan(texts.indexOf('begin'));
  await expectInvariants(server);

  expect((await post(`${source}/unmerge`)).status).toBe(200);
  expect({ source: await rowsOf(source), target: await rowsOf(target) }).toEqual(before);
  await expectInvariants(server);
});

test('the votes that the server copied for a failed merge do not count, and the next merge of the two ideas uses these copies', async () => {
  await post(`${source}/vote`, { value: 'up' });
  const before = { source: await read(source), target: await read(target) };
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  await server.sql('select copy_votes($1, $2, $3, 0, 5000)', [world.accountId, source, target]);
  expect((await merge()).key).toBe('board_frozen');
  await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
  expect({ source: await read(source), target: await read(target) }).toEqual(before);
  expect(before.target).toMatchObject({ up_count: 0, down_count: 0, my_vote: 'none' });

  // The failed merge has already copied this vote. Now the voter changes the vote on the source idea.
  await post(`${source}/vote`, { value: 'down' });
  const rows = await server.sql<{ xmin: string }>('select xmin from votes where idea_id = $1', [target]);
  const merged = await merge();
  expect(merged.body.target).toMatchObject({ up_count: before.source.up_count - 1, my_vote: 'down' });
  const kept = await server.sql<{ xmin: string }>('select xmin from votes where idea_id = $1', [target]);
  // The merge rewrites only the copy of the changed vote. The merge keeps the rows of all other copies.
  expect(kept.filter(({ xmin }) => xmin === rows[0]?.xmin)).toHaveLength(manyVotes);
  await expectInvariants(server);
});

test('each accepted vote that arrives during a merge of an idea with many votes is counted once', async () => {
  const tokens = await Promise.all(Array.from({ length: 30 }, () => issueToken(server, world, 'write')));
  const voting = Promise.all(
    tokens.map(({ token: by }, n) =>
      request(server, `POST /api/v1/ideas/${n % 3 === 0 ? source : target}/vote`, { token: by, json: { value: 'up' } }),
    ),
  );
  const [merged, answers] = await Promise.all([merge(), voting]);
  expect(merged.status).toBe(200);
  // After the merge, the server rejects votes on the source idea with 404.
  for (const [n, { status }] of answers.entries()) expect(n % 3 === 0 ? [200, 404] : [200]).toContain(status);
  const counted = answers.filter(({ status }) => status === 200).length;
  const { up_count, down_count } = await read(target);
  expect(up_count + down_count).toBe(manyVotes + counted);
  await expectInvariants(server);
});
