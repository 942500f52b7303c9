import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { bigint, integer, nullable, sql } from '../../database/sql.ts';
import type { ReadOperation } from '../operation.ts';

const countVotes = query(
  'count_votes_to_copy',
  (db, $: Arguments<{ accountId: number; boardId: number; sourceId: number; targetId: number }>) =>
    db
      .selectFrom('ideas as i')
      .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', $.accountId))
      .innerJoin('ideas as t', join => join.onRef('t.board_id', '=', 'b.id').on('t.account_id', '=', $.accountId))
      .select(i => i('i.up_count', '+', i.ref('i.down_count')).as('votes'))
      .where('i.account_id', '=', $.accountId)
      .where('i.id', '=', $.sourceId)
      .where('i.moderation_state', '=', 'published')
      .where('i.merged_into_id', 'is', null)
      .where('t.id', '=', $.targetId)
      .where('t.moderation_state', '=', 'published')
      .where('t.merged_into_id', 'is', null)
      .whereRef('i.id', '<>', 't.id')
      .where('b.id', '=', $.boardId)
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
    // Null after the last batch.
    row: { last_voter_id: nullable(bigint()) },
  },
  'select copy_votes($accountId, $sourceId, $targetId, $afterVoterId, $count) as last_voter_id',
);

/** A merge copies that many votes under its locks in a few milliseconds. Each batch holds a lock for as long. */
const batchSize = 1_000;

/**
 * Copies the votes of an idea to the target of its merge, before the merge locks both. Each batch is a transaction of
 * its own, and no copy counts before the merge: see copy_votes. Refuses nothing, since mergeIdea does.
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
