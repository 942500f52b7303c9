import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

/** An idea with its own score, which is its score again after an unmerge. */
export type MergedIdea = RowOf<typeof selectMergedIdeas>;

/** The order of the list, for its cursors: of two merges the later one has the larger id. */
export const mergedSort = 'merged';

const selectMergedIdeas = query(
  'select_merged_ideas',
  (db, $: Arguments<{ accountId: number; boardId: number; targetId: number; beforeId: number; limit: number }>) =>
    db
      .selectFrom('merges as m')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'm.source_id').on('i.account_id', '=', $.accountId))
      .select(['i.id', 'i.title', 'i.score', 'm.id as merge_id', 'm.merged_at'])
      .where('m.account_id', '=', $.accountId)
      .where('m.target_id', '=', $.targetId)
      .where('m.unmerged_at', 'is', null)
      .where('m.id', '<', $.beforeId)
      .where('i.board_id', '=', $.boardId)
      .orderBy('m.id', 'desc')
      .limit($.limit),
);

/** Lists the ideas of the reader's board that are merged into an idea, the last one first. */
export async function listMergedIdeas(op: ReadOperation, ideaId: number, place: Place): Promise<Page<MergedIdea>> {
  const { accountId, boardId } = op.actor;
  const rows = await op.query(selectMergedIdeas, {
    accountId,
    boardId,
    targetId: ideaId,
    beforeId: place.cursor?.id ?? Number.MAX_SAFE_INTEGER,
    limit: place.perPage + 1,
  });
  return cutPage(rows, place, idea => ({ sort: mergedSort, key: 0, id: idea.merge_id }));
}
