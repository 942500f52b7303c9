import type { QueryBuilding } from '../../database/database.ts';
import type { Administration } from '../administration.ts';
import { type Cursor, cutPage, type Place } from '../pagination.ts';

export type PendingIdea = Awaited<ReturnType<typeof listPendingIdeas>>[number];

/**
 * Lists the ideas that await approval in an account or on one of its boards, oldest first, starting after a cursor. The
 * query reads the first ideas of each status from the index of pending ideas. So the cost does not depend on the number
 * of pending ideas.
 */
export function listPendingIdeas(
  { db }: Administration,
  accountId: number,
  boardId: number | null,
  limit: number,
  after?: Cursor,
) {
  return db
    .selectFrom('boards as b')
    .innerJoin('statuses as s', join => join.onRef('s.board_id', '=', 'b.id').on('s.account_id', '=', accountId))
    .innerJoinLateral(
      status =>
        status
          .selectFrom('ideas as i')
          .select(['i.id', 'i.title', 'i.body', 'i.author_id', 'i.created_at'])
          .where('i.account_id', '=', accountId)
          .whereRef('i.status_id', '=', 's.id')
          .where('i.moderation_state', '=', 'pending')
          .$if(after !== undefined, ideas =>
            ideas.where(i => i(i.refTuple('i.created_at', 'i.id'), '>', i.tuple(String(after?.key), after?.id ?? 0))),
          )
          .orderBy('i.created_at')
          .orderBy('i.id')
          .limit(limit)
          .as('i'),
      join => join.onTrue(),
    )
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .select(['i.id', 'b.slug as board', 'i.title', 'i.body', 'i.author_id', 'u.name as author', 'i.created_at'])
    .where('b.account_id', '=', accountId)
    .$if(boardId !== null, ideas => ideas.where('b.id', '=', boardId))
    .orderBy('i.created_at')
    .orderBy('i.id')
    .limit(limit)
    .execute();
}

export const pendingSort = 'waiting';

export async function pagePendingIdeas(admin: Administration, accountId: number, boardId: number | null, place: Place) {
  const rows = await listPendingIdeas(admin, accountId, boardId, place.perPage + 1, place.cursor);
  return cutPage(rows, place, idea => ({ sort: pendingSort, key: idea.created_at, id: idea.id }));
}

export const rejectedSort = 'rejected';

/**
 * Reads a page of an account's rejected ideas, the latest rejection first. Each idea has the reason that its author
 * sees.
 *
 * A subquery reads the rows of the page in the order of an index. A single join would sort all rejected ideas.
 */
export async function pageRejectedIdeas({ db }: QueryBuilding, accountId: number, place: Place) {
  const { perPage, cursor } = place;
  const page = db
    .selectFrom('ideas as i')
    .select(['i.id', 'i.title', 'i.rejection_reason', 'i.board_id', 'i.author_id', 'i.updated_at'])
    .where(i => i.and({ 'i.account_id': accountId, 'i.moderation_state': 'rejected' }))
    .$if(cursor !== undefined, ideas =>
      ideas.where(i => i(i.refTuple('i.updated_at', 'i.id'), '<', i.tuple(String(cursor?.key), cursor?.id ?? 0))),
    )
    .orderBy('i.updated_at', 'desc')
    .orderBy('i.id', 'desc')
    .limit(perPage + 1);
  const rows = await db
    .selectFrom(page.as('i'))
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .select(['i.id', 'i.title', 'b.name as board_name', 'u.name as author_name', 'i.updated_at as rejected_at'])
    .select(i => i.fn.coalesce('i.rejection_reason', i.val('')).as('reason'))
    .orderBy('i.updated_at', 'desc')
    .orderBy('i.id', 'desc')
    .execute();
  return cutPage(rows, place, idea => ({ sort: rejectedSort, key: idea.rejected_at, id: idea.id }));
}

export function readRejectedIdea({ db }: QueryBuilding, accountId: number, ideaId: number) {
  return db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .select(['i.id', 'i.title', 'i.body', 'i.author_id', 'i.created_at', 'i.updated_at as rejected_at'])
    .select(i => i.fn.coalesce('i.rejection_reason', i.val('')).as('reason'))
    .select(['b.slug as board_slug', 'b.name as board_name', 'u.name as author_name'])
    .where(i => i.and({ 'i.account_id': accountId, 'i.id': ideaId, 'i.moderation_state': 'rejected' }))
    .executeTakeFirst();
}
