import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { ReadOperation } from '../operation.ts';

/** The categories of statuses that a roadmap shows. */
export const roadmapCategories = ['planned', 'active', 'completed'] as const;

/** The maximum number of ideas of each status on a roadmap. */
export const ideasOfStatus = 10;

/**
 * Selects one idea more in each status than the roadmap shows, so that the page knows whether the status has further
 * ideas.
 */
const selectRoadmap = query('select_roadmap', (db, $: Arguments<{ accountId: number; boardId: number }>) =>
  db
    .selectFrom('statuses as s')
    .crossJoinLateral(from =>
      from
        .selectFrom('ideas as i')
        .select(['i.id', 'i.title', 'i.score'])
        .where('i.account_id', '=', $.accountId)
        .whereRef('i.status_id', '=', 's.id')
        .where('i.moderation_state', '=', 'published')
        .where('i.merged_into_id', 'is', null)
        .orderBy('i.score', 'desc')
        .orderBy('i.id', 'desc')
        .limit(ideasOfStatus + 1)
        .as('top'),
    )
    .select(['s.key as status_key', 'top.id', 'top.title', 'top.score'])
    .where(s => s.and({ 's.account_id': $.accountId, 's.board_id': $.boardId, 's.is_hidden': false }))
    .where('s.category', 'in', roadmapCategories)
    .orderBy('top.score', 'desc')
    .orderBy('top.id', 'desc'),
);

export type RoadmapIdea = RowOf<typeof selectRoadmap>;

/**
 * Lists the ideas with the highest scores in each status of a roadmap, by status key. If a status has further ideas,
 * its list has one idea more than the roadmap shows.
 */
export async function listRoadmap(op: ReadOperation): Promise<Map<string, RoadmapIdea[]>> {
  const { accountId, boardId } = op.actor;
  return Map.groupBy(await op.query(selectRoadmap, { accountId, boardId }), idea => idea.status_key);
}
