import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

/**
 * A source idea that was merged into a target idea. The score is the source's own score, without the votes on the
 * target.
 */
export type MergedIdea = RowOf<typeof selectMergedIdeas>;

/**
 * The name that cursors contain for the sort order of merged ideas. Merged ideas are sorted by the id of the merge,
 * because later merges have larger ids.
 */
export const mergedSort = 'merged';

const selectMergedIdeas = query(
  'select_merged_ideas',
  (db, $: Arguments<{ accountId: number; boardId: number; targetId: number; beforeId: number; limit: number }>) =>
    db
      .selectFrom('merges as m')
      .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'm.source_id').on('i.account_id', '=', $.accountId))
      .select(['i.id', 'i.title', 'i.score', 'm.id as merge_id', 'm.merged_at'])
      .where(m => m.and({ 'm.account_id': $.accountId, 'm.target_id': $.targetId, 'm.unmerged_at': null }))
      .where('m.id', '<', $.beforeId)
      .where('i.board_id', '=', $.boardId)
      .orderBy('m.id', 'desc')
      .limit($.limit),
);

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
