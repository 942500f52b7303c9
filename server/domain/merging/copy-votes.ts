import { statement } from '../../database/statement.ts';
import type { ReadOperation } from '../operation.ts';

const countVotes = statement<{ votes: number }>(
  'count_votes_to_copy',
  `select i.up_count + i.down_count as votes
  from ideas i join boards b on b.id = i.board_id join ideas t on t.board_id = b.id
  where i.id = $1 and t.id = $2 and i.id <> t.id and b.id = $3 and not b.is_frozen
    and i.moderation_state = 'published' and i.merged_into_id is null
    and t.moderation_state = 'published' and t.merged_into_id is null`,
);

const copyBatch = statement<{ last_voter_id: number | null }>(
  'copy_votes',
  'select copy_votes($1, $2, $3, $4) as last_voter_id',
);

/** A merge copies that many votes under its locks in a few milliseconds. Each batch holds a lock for as long. */
const batchSize = 1_000;

/**
 * Copies the votes of an idea to the target of its merge, before the merge locks both. Each batch is a transaction of
 * its own, and no copy counts before the merge: see copy_votes. Refuses nothing, since mergeIdea does.
 */
export async function copyVotesAhead(op: ReadOperation, sourceId: number, targetId: number): Promise<void> {
  const [count] = await op.query(countVotes, [sourceId, targetId, op.actor.boardId]);
  if (!count || count.votes <= batchSize) return;
  for (let last: number | null | undefined = 0; last != null; ) {
    const batches: { last_voter_id: number | null }[] = await op.query(copyBatch, [
      sourceId,
      targetId,
      last,
      batchSize,
    ]);
    last = batches[0]?.last_voter_id;
  }
}
