import { plannedStatement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';
import { type Cursor, cutPage, type Page, type Place } from '../pagination.ts';

export interface PendingIdea {
  id: number;
  board: string;
  title: string;
  body: string;
  author_id: number;
  author: string;
  created_at: string;
}

/** The first of each status come from the index of what is pending, however many wait. */
const selectPendingIdeas = plannedStatement<PendingIdea>(`
  select i.id, b.slug as board, i.title, i.body, i.author_id, u.name as author, i.created_at
  from boards b
  join statuses s on s.board_id = b.id
  cross join lateral (
    select i.id, i.title, i.body, i.author_id, i.created_at from ideas i
    where i.status_id = s.id and i.moderation_state = 'pending'
      and ($4::timestamptz is null or (i.created_at, i.id) > ($4, $5::bigint))
    order by i.created_at, i.id
    limit $3
  ) i
  join users u on u.id = i.author_id
  where b.account_id = $1 and ($2::bigint is null or b.id = $2)
  order by i.created_at, i.id
  limit $3`);

/**
 * Lists what awaits approval in an account, or on one board of it: who has waited longest stands first. It goes on after
 * the idea that a cursor names.
 */
export function listPendingIdeas(
  admin: Administration,
  accountId: number,
  boardId: number | null,
  limit: number,
  after?: Cursor,
): Promise<PendingIdea[]> {
  return admin.query(selectPendingIdeas, [accountId, boardId, limit, after?.key ?? null, after?.id ?? null]);
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
