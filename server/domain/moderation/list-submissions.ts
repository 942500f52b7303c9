import type { InferResult } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Administration } from '../administration.ts';
import { type Cursor, cutPage, type Page, type Place } from '../pagination.ts';

export type PendingIdea = InferResult<ReturnType<typeof pendingIdeas>>[number];

/** Reads the first ideas of each status from the index of pending ideas, so that a long queue costs no more. */
function pendingIdeas({ db }: Administration, accountId: number, limit: number, after?: Cursor) {
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
    .orderBy('i.created_at')
    .orderBy('i.id')
    .limit(limit);
}

/**
 * Lists the ideas that await approval in an account, or on one board of it, oldest first. Begins after the idea that a
 * cursor names.
 */
export function listPendingIdeas(
  admin: Administration,
  accountId: number,
  boardId: number | null,
  limit: number,
  after?: Cursor,
): Promise<PendingIdea[]> {
  return pendingIdeas(admin, accountId, limit, after)
    .$if(boardId !== null, ideas => ideas.where('b.id', '=', boardId))
    .execute();
}

/** The order of the queue, for its cursors. */
export const pendingSort = 'waiting';

/** A page of the queue. */
export async function pagePendingIdeas(
  admin: Administration,
  accountId: number,
  boardId: number | null,
  place: Place,
): Promise<Page<PendingIdea>> {
  const rows = await listPendingIdeas(admin, accountId, boardId, place.perPage + 1, place.cursor);
  return cutPage(rows, place, idea => ({ sort: pendingSort, key: idea.created_at, id: idea.id }));
}

/** The order of the list, for its cursors. */
export const rejectedSort = 'rejected';

/**
 * A page of the rejected ideas of an account, the last one first, with the reasons that their authors were told. An inner
 * query takes the page in the order of its index. A single join would sort all rejected ideas.
 */
export async function pageRejectedIdeas({ db }: QueryBuilding, accountId: number, place: Place) {
  const { perPage, cursor } = place;
  const page = db
    .selectFrom('ideas as i')
    .select(['i.id', 'i.title', 'i.rejection_reason', 'i.board_id', 'i.author_id', 'i.updated_at'])
    .where('i.account_id', '=', accountId)
    .where('i.moderation_state', '=', 'rejected')
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

/** Reads a rejected idea of an account, which only its moderators see; undefined where there is none. */
export function readRejectedIdea({ db }: QueryBuilding, accountId: number, ideaId: number) {
  return db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .select(['i.id', 'i.title', 'i.body', 'i.author_id', 'i.created_at', 'i.updated_at as rejected_at'])
    .select(i => i.fn.coalesce('i.rejection_reason', i.val('')).as('reason'))
    .select(['b.slug as board_slug', 'b.name as board_name', 'u.name as author_name'])
    .where('i.account_id', '=', accountId)
    .where('i.id', '=', ideaId)
    .where('i.moderation_state', '=', 'rejected')
    .executeTakeFirst();
}
