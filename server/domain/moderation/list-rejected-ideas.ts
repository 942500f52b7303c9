import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

/** An idea that was rejected, in a list. */
export interface RejectedListing {
  id: number;
  title: string;
  /** What the author was told. */
  reason: string;
  board_name: string;
  author_name: string;
  rejected_at: string;
}

/** The order of the list, for its cursors. */
export const rejectedSort = 'rejected';

const selectRejectedIdeas = plannedStatement<RejectedListing>(`
  select i.id, i.title, coalesce(i.rejection_reason, '') as reason, b.name as board_name, u.name as author_name,
    i.updated_at as rejected_at
  from ideas i join boards b on b.id = i.board_id join users u on u.id = i.author_id
  where i.account_id = $1 and i.moderation_state = 'rejected'
    and ($3::timestamptz is null or (i.updated_at, i.id) < ($3, $4::bigint))
  order by i.updated_at desc, i.id desc
  limit $2`);

/** A page of what was rejected in an account, the last one first. */
export async function pageRejectedIdeas(
  db: Queryable,
  accountId: number,
  place: Place,
): Promise<Page<RejectedListing>> {
  const { perPage, cursor } = place;
  const rows = await db.query(selectRejectedIdeas, [accountId, perPage + 1, cursor?.key ?? null, cursor?.id ?? null]);
  return cutPage(rows, place, idea => ({ sort: rejectedSort, key: idea.rejected_at, id: idea.id }));
}
