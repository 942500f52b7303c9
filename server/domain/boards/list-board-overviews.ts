import { plannedStatement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';
import { countOf } from '../bounded-count.ts';
import type { BoardListing } from './list-boards.ts';

/** A board as a list of boards shows it. */
export type BoardOverview = Omit<BoardListing, 'description' | 'created_at' | 'updated_at'>;

// As listBoards, but with counts that are as quick where much awaits approval.
const selectOverviews = plannedStatement<BoardOverview>(`
  select b.id, b.slug, b.name, b.is_frozen, b.pre_moderation, b.is_public,
    b.submissions_open_at, b.submissions_close_at, b.voting_open_at, b.voting_close_at,
    pending.count as pending_count
  from boards b, lateral (
    select ${countOf(`from statuses s join ideas i on i.status_id = s.id
      where s.board_id = b.id and i.moderation_state = 'pending'`)} as count
  ) pending
  where b.account_id = $1 and (not $2::boolean or b.is_public) and (not $3::boolean or pending.count > 0)
  order by b.slug
  limit $4 offset $5`);

/** Which boards are listed: all, or those alone that everybody may read, or of which something awaits approval. */
interface Choice {
  isPublic?: boolean;
  hasPending?: boolean;
  limit: number;
  offset?: number;
}

/** Lists some of the boards of an account by slug, and how much awaits approval, counted as far as countLimit. */
export function listBoardOverviews(
  admin: Administration,
  accountId: number,
  { isPublic = false, hasPending = false, limit, offset = 0 }: Choice,
): Promise<BoardOverview[]> {
  return admin.query(selectOverviews, [accountId, isPublic, hasPending, limit, offset]);
}
