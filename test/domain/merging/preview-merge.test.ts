import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeIdea, unmergeIdea } from '../../../server/domain/merging/merge-idea.ts';
import { previewMerge } from '../../../server/domain/merging/preview-merge.ts';
import type { WriteOperation } from '../../../server/domain/operation.ts';
import { castVote } from '../../../server/domain/votes/cast-vote.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createBoard, createWorld, insertIdea } from '../../helpers/fixtures.ts';
import { snapshot } from '../../helpers/snapshot.ts';

const ideaCount = 4;
const voterCount = 4;

const db = await createDatabaseForFile();
const world = await createWorld(db);
const made = await db.sql<{ id: number }>(
  'insert into voters (account_id) select $1 from generate_series(1, $2) returning id',
  [world.accountId, voterCount],
);
const voters = made.map(({ id }) => id);

function operate<T>(work: (op: WriteOperation) => Promise<T>, voterId = 0): Promise<T> {
  const { accountId, boardId, ownerId: userId } = world;
  const actor = { accountId, boardId, userId, tokenId: null, voterId, isModerator: true };
  return db.database.transaction(({ query }) => work({ actor, now: new Date(), query }));
}

const vote = (ideaId: number, voter: number, value: 'up' | 'down' | 'none') =>
  operate(op => castVote(op, ideaId, value), voters[voter]);
const preview = (sourceId: number, targetId: number) => operate(op => previewMerge(op, sourceId, targetId));
const merge = (sourceId: number, targetId: number) => operate(op => mergeIdea(op, sourceId, targetId));
const createIdeas = async () => {
  const ids: number[] = [];
  for (let n = 0; n < ideaCount; n++) ids.push(await insertIdea(db, world, { title: `Idea ${n}` }));
  return ids;
};
const tallyOf = ({ up_count, down_count, score }: { up_count: number; down_count: number; score: number }) => ({
  up_count,
  down_count,
  score,
});

test('the preview of a merge counts a voter of both ideas once, with the vote on the target, and changes nothing', async () => {
  const [source = 0, target = 0] = await createIdeas();
  for (const voter of [0, 1, 2]) await vote(source, voter, 'up');
  await vote(target, 0, 'down');
  await vote(target, 1, 'up');
  await vote(target, 3, 'down');
  const before = await snapshot(db);
  const { idea, target: into, combined } = await preview(source, target);
  expect([idea.score, into.score]).toEqual([3, -1]);
  expect(combined).toEqual({ up_count: 2, down_count: 2, score: 0, voted_on_both: 2 });
  expect(await snapshot(db)).toEqual(before);
  expect(tallyOf((await merge(source, target)).target ?? idea)).toEqual(tallyOf(combined));
});

test('the preview of a merge includes earlier merges into both ideas, and a withdrawn vote on the target overrides the vote on the source', async () => {
  const [source = 0, target = 0, ofSource = 0, ofTarget = 0] = await createIdeas();
  await vote(ofSource, 0, 'up');
  await vote(ofTarget, 1, 'down');
  await vote(ofTarget, 2, 'up');
  await vote(source, 1, 'up');
  await vote(source, 2, 'up');
  await merge(ofSource, source);
  await merge(ofTarget, target);
  await vote(target, 2, 'none');
  const { idea, combined } = await preview(source, target);
  expect(combined).toEqual({ up_count: 1, down_count: 1, score: 0, voted_on_both: 1 });
  expect(tallyOf((await merge(source, target)).target ?? idea)).toEqual(tallyOf(combined));
});

const someIdea = fc.nat({ max: ideaCount - 1 });
const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('vote' as const),
      idea: someIdea,
      voter: fc.nat({ max: voterCount - 1 }),
      value: fc.constantFrom('up' as const, 'down' as const, 'none' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('merge' as const), idea: someIdea, target: someIdea }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unmerge' as const), idea: someIdea }) },
);

const keyOf = (error: unknown) => (error as { key: string }).key;

test('after random votes and merges, a merge has the result that its preview showed, or the preview is rejected', async () => {
  let merges = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 25, maxLength: 30, size: 'max' }), async commands => {
      const ids = await createIdeas();
      for (const one of commands) {
        const idea = ids[one.idea] ?? 0;
        // The server rejects a vote on a merged idea. The test ignores this error.
        if (one.kind === 'vote') await vote(idea, one.voter, one.value).catch(() => {});
        else if (one.kind === 'unmerge') await operate(op => unmergeIdea(op, idea));
        else {
          const target = ids[one.target] ?? 0;
          const said = await preview(idea, target).catch(keyOf);
          // If the idea is already merged into this target, another merge succeeds without any change, but the preview
          // of the merge fails.
          const done = await merge(idea, target).catch(keyOf);
          if (typeof said !== 'string') {
            merges += 1;
            expect(typeof done === 'string' ? done : done.target && tallyOf(done.target)).toEqual(
              tallyOf(said.combined),
            );
          } else if (typeof done === 'string') expect(said).toBe(done);
          else expect([said, done.idea.merged_into_id]).toEqual(['idea_already_merged', target]);
        }
      }
    }),
    { seed: 20_261_120, numRuns: 5 },
  );
  expect(merges).toBeGreaterThan(10);
});

test('the preview of an invalid merge is rejected', async () => {
  const [source = 0, target = 0] = await createIdeas();
  const pending = await insertIdea(db, world, { moderationState: 'pending' });
  const { id: boardId } = await createBoard(db, world.accountId);
  const elsewhere = await insertIdea(db, { ...world, boardId });
  await expect(preview(source, source)).rejects.toMatchObject({ key: 'merge_into_self' });
  await expect(preview(source, pending)).rejects.toMatchObject({ key: 'idea_not_published' });
  await expect(preview(pending, target)).rejects.toMatchObject({ key: 'idea_not_published' });
  await expect(preview(source, elsewhere)).rejects.toMatchObject({ key: 'not_found' });
  await expect(preview(2 ** 52, target)).rejects.toMatchObject({ key: 'not_found' });
});
