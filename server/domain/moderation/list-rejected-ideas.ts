import type { InferResult } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

/** A rejected idea in a list, with the reason that its author was told. */
export type RejectedListing = InferResult<ReturnType<typeof rejectedIdeas>>[number];

/** The order of the list, for its cursors. */
export const rejectedSort = 'rejected';

/** The page is taken first, in the order of its index: joined at once with the rest, all rejected ideas are sorted. */
function rejectedIdeas({ db }: QueryBuilding, accountId: number, { perPage, cursor }: Place) {
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
  return db
    .selectFrom(page.as('i'))
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .select(['i.id', 'i.title', 'b.name as board_name', 'u.name as author_name', 'i.updated_at as rejected_at'])
    .select(i => i.fn.coalesce('i.rejection_reason', i.val('')).as('reason'))
    .orderBy('i.updated_at', 'desc')
    .orderBy('i.id', 'desc');
}

/** A page of the rejected ideas of an account, the last one first. */
export async function pageRejectedIdeas(
  db: QueryBuilding,
  accountId: number,
  place: Place,
): Promise<Page<RejectedListing>> {
  const rows = await rejectedIdeas(db, accountId, place).execute();
  return cutPage(rows, place, idea => ({ sort: rejectedSort, key: idea.rejected_at, id: idea.id }));
}
