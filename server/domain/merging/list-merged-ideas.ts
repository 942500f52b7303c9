import { statement } from '../../database/statement.ts';
import type { ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

export interface MergedIdea {
  id: number;
  title: string;
  /** Its own, as it would be again after an unmerge. */
  score: number;
  merge_id: number;
  merged_at: string;
}

/** The order of the list, for its cursors: of two merges the later one has the larger id. */
export const mergedSort = 'merged';

const selectMergedIdeas = statement<MergedIdea>(
  'select_merged_ideas',
  `select i.id, i.title, i.score, m.id as merge_id, m.merged_at
  from merges m join ideas i on i.id = m.source_id
  where m.target_id = $1 and i.board_id = $2 and m.unmerged_at is null and ($3::bigint is null or m.id < $3)
  order by m.id desc
  limit $4`,
);

/** Lists the ideas of the reader's board that are merged into an idea, the last one first. */
export async function listMergedIdeas(op: ReadOperation, ideaId: number, place: Place): Promise<Page<MergedIdea>> {
  const values = [ideaId, op.actor.boardId, place.cursor?.id ?? null, place.perPage + 1];
  const rows = await op.query(selectMergedIdeas, values);
  return cutPage(rows, place, idea => ({ sort: mergedSort, key: 0, id: idea.merge_id }));
}
