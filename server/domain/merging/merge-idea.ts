import { mergeMeanings } from '../../../contract/errors.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { bigint, integer, nullable, sql, time } from '../../database/sql.ts';
import { DomainError } from '../domain-error.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkPublished, lockIdeas } from '../ideas/lock-ideas.ts';
import { type IdeaView, requireIdea, requireIdeas } from '../ideas/read-idea.ts';
import type { ReadOperation, WriteOperation } from '../operation.ts';

const countVotes = query(
  'count_votes_to_copy',
  (db, $: Arguments<{ accountId: number; boardId: number; sourceId: number; targetId: number }>) =>
    db
      .selectFrom('ideas as i')
      .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', $.accountId))
      .innerJoin('ideas as t', join => join.onRef('t.board_id', '=', 'b.id').on('t.account_id', '=', $.accountId))
      .select(i => i('i.up_count', '+', i.ref('i.down_count')).as('votes'))
      .where(i => i.and({ 'i.account_id': $.accountId, 'i.id': $.sourceId, 't.id': $.targetId, 'b.id': $.boardId }))
      .where(i => i.and({ 'i.moderation_state': 'published', 'i.merged_into_id': null }))
      .where(t => t.and({ 't.moderation_state': 'published', 't.merged_into_id': null }))
      .whereRef('i.id', '<>', 't.id')
      .where('b.is_frozen', '=', false),
);

const callCopyVotes = sql(
  'copy_votes',
  {
    arguments: {
      accountId: bigint(),
      sourceId: bigint(),
      targetId: bigint(),
      afterVoterId: bigint(),
      count: integer(),
    },
    // The id of the last voter whose vote was copied. Null if all votes have been copied.
    row: { last_voter_id: nullable(bigint()) },
  },
  'select copy_votes($accountId, $sourceId, $targetId, $afterVoterId, $count) as last_voter_id',
);

/** The number of votes in one batch. Copying a batch of this size holds locks for a few milliseconds. */
const batchSize = 1_000;

/**
 * Copies the votes of a large idea to its target before the merge locks both ideas. Each batch is copied in its own
 * transaction. The copies count only after the merge (see copy_votes). If the merge is invalid, this function copies
 * nothing, and mergeIdea rejects the merge later.
 */
export async function copyVotesAhead(op: ReadOperation, sourceId: number, targetId: number): Promise<void> {
  const { accountId, boardId } = op.actor;
  const [count] = await op.query(countVotes, { accountId, boardId, sourceId, targetId });
  if (!count || count.votes <= batchSize) return;
  for (let afterVoterId: number | null = 0; afterVoterId !== null; ) {
    const [batch]: RowOf<typeof callCopyVotes>[] = await op.query(callCopyVotes, {
      accountId,
      sourceId,
      targetId,
      afterVoterId,
      count: batchSize,
    });
    afterVoterId = batch?.last_voter_id ?? null;
  }
}

export interface MergeView {
  idea: IdeaView;
  target: IdeaView | null;
}

/** Merges two ideas in the database. The caller must lock both ideas first. */
export const callBeginMerge = sql(
  'begin_merge',
  { arguments: { accountId: bigint(), sourceId: bigint(), targetId: bigint(), now: time() }, row: {} },
  'select begin_merge($accountId, $sourceId, $targetId, $now)',
);

/**
 * Computes which votes of merged ideas count for an idea, and the tallies of the idea and of the targets it is merged
 * into. The caller must lock these ideas first.
 */
export const callCarryVotes = sql(
  'carry_votes',
  { arguments: { accountId: bigint(), ideaId: bigint() }, row: {} },
  'select carry_votes($accountId, $ideaId)',
);

/**
 * Merges an idea, the source, into another idea, the target (specification: Idea actions, rule 4). The source keeps its
 * votes. The target gets a copy of each vote whose voter did not vote on the target. An unmerge can undo exactly the
 * effect of the merge, because the votes on the source never changed.
 *
 * Call copyVotesAhead first. It copies most votes before mergeIdea locks the ideas.
 */
export async function mergeIdea(op: WriteOperation, sourceId: number, targetId: number): Promise<MergeView> {
  const [source, target] = await lockIdeas(op, sourceId === targetId ? [sourceId] : [sourceId, targetId]);
  if (!source || !target) throw new DomainError('merge_into_self');
  const { accountId } = op.actor;
  if (source.merged_into_id !== targetId) {
    checkPublished(source, mergeMeanings);
    checkPublished(target, mergeMeanings);
    await op.query(callBeginMerge, { accountId, sourceId, targetId, now: op.now });
    const changes = [{ field: 'merged_into_id', from: null, to: targetId }];
    await recordEvent(op, 'idea.merged', sourceId, { targetId, changes });
    op.audit?.record('idea.merged', { account_id: accountId, idea_id: sourceId, target_id: targetId });
  }
  return requirePair(op, sourceId, targetId);
}

/** Selects an idea, the target into which the idea is merged, the target of that target, and so on. */
const selectChain = query(
  'select_merge_chain',
  (db, $: Arguments<{ accountId: number; boardId: number; ideaId: number }>) =>
    db
      .withRecursive('chain(id, merged_into_id)', cte =>
        cte
          .selectFrom('ideas as i')
          .select(['i.id', 'i.merged_into_id'])
          .where(i => i.and({ 'i.account_id': $.accountId, 'i.board_id': $.boardId, 'i.id': $.ideaId }))
          .unionAll(
            cte
              .selectFrom('chain')
              .innerJoin('ideas as i', 'i.id', 'chain.merged_into_id')
              .select(['i.id', 'i.merged_into_id'])
              .where('i.account_id', '=', $.accountId),
          ),
      )
      .selectFrom('chain')
      .select('chain.id')
      // Kysely cannot infer the type of the rows of a recursive query.
      .$castTo<{ id: number }>(),
);

const callEndMerge = sql(
  'end_merge',
  { arguments: { accountId: bigint(), sourceId: bigint(), targetId: bigint(), now: time() }, row: {} },
  'select end_merge($accountId, $sourceId, $targetId, $now)',
);

/** Undoes the merge of an idea. Changes nothing if the idea is not merged. */
export async function unmergeIdea(op: WriteOperation, ideaId: number): Promise<MergeView> {
  const targetId = await lockChain(op, ideaId);
  if (targetId === null) return { idea: await requireIdea(op, ideaId), target: null };
  const { accountId } = op.actor;
  await op.query(callEndMerge, { accountId, sourceId: ideaId, targetId, now: op.now });
  const changes = [{ field: 'merged_into_id', from: targetId, to: null }];
  await recordEvent(op, 'idea.unmerged', ideaId, { targetId, changes });
  op.audit?.record('idea.unmerged', { account_id: accountId, idea_id: ideaId, target_id: targetId });
  return requirePair(op, ideaId, targetId);
}

async function requirePair(op: WriteOperation, ideaId: number, targetId: number): Promise<MergeView> {
  const [idea, target] = await requireIdeas(op, [ideaId, targetId]);
  if (!idea || !target) throw new Error('requireIdeas returned too few ideas');
  return { idea, target };
}

/**
 * Locks an idea and the chain of its merge targets, because the tally of each target includes the idea's votes. Returns
 * the id of the idea's direct target. Throws ChainGrewError if another transaction extended the chain before this
 * function had locked it.
 */
async function lockChain(op: WriteOperation, ideaId: number): Promise<number | null> {
  const { accountId, boardId } = op.actor;
  const chain = (await op.query(selectChain, { accountId, boardId, ideaId })).map(({ id }) => id);
  const locked = await lockIdeas(op, chain.length > 0 ? chain : [ideaId]);
  const targets = locked.map(idea => idea.merged_into_id);
  if (targets.some(id => id !== null && !chain.includes(id))) throw new ChainGrewError();
  return targets[0] ?? null;
}

/**
 * Makes the transaction start again with the longer chain of merge targets. Locking the missing ideas now would break
 * the order of locks and could cause a deadlock. PostgreSQL would then cancel one of the transactions, for example the
 * transaction of a vote.
 */
class ChainGrewError extends Error {
  override readonly name = 'ChainGrewError';
  /** PostgreSQL's code for a serialization failure. The server retries a transaction that fails with this code. */
  readonly code = '40001';
}
