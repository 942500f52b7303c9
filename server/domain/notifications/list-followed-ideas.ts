import type { StatusCategory } from '../../../contract/status.ts';
import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';

export interface FollowedIdea {
  idea_id: number;
  title: string;
  status_label: string;
  status_category: StatusCategory;
  account: string;
  account_name: string;
  board: string;
  board_name: string;
  /** Whether everybody may read the idea now. */
  is_public: boolean;
  followed_at: string;
}

/**
 * The page is taken first, in the order of its index: joined with all the rest at once, the planner reads everything that is
 * followed for 26 rows, since it does not see that hardly anybody is blocked.
 */
const selectFollowedIdeas = plannedStatement<FollowedIdea>(`
  with page as materialized (
    select f.idea_id, f.account_id, f.created_at
    from followers f
    where f.user_id = $1 and ($2::bigint is null or f.idea_id < $2) and f.account_id = any (array(
      select m.account_id
      from memberships m join accounts a on a.id = m.account_id
      where m.user_id = $1 and a.erasure_began_at is null
        and not exists (select from user_blocks x where x.account_id = m.account_id and x.user_id = m.user_id)
    ))
    order by f.idea_id desc
    limit $3
  )
  select i.id as idea_id, i.title, s.label as status_label, s.category as status_category,
    a.slug as account, a.name as account_name, b.slug as board, b.name as board_name,
    b.is_public and i.moderation_state = 'published' and not s.is_hidden as is_public, f.created_at as followed_at
  from page f
  join ideas i on i.id = f.idea_id
  join statuses s on s.id = i.status_id
  join boards b on b.id = i.board_id
  join accounts a on a.id = f.account_id
  order by f.idea_id desc`);

/**
 * Lists the ideas that a user follows, the newest idea first: those of which the user is told. Whoever left an account,
 * or is blocked in it, is told nothing of it, and sees no titles of it either.
 */
export function listFollowedIdeas(
  db: Queryable,
  userId: number,
  { beforeIdeaId, limit }: { beforeIdeaId?: number | undefined; limit: number },
): Promise<FollowedIdea[]> {
  return db.query(selectFollowedIdeas, [userId, beforeIdeaId ?? null, limit]);
}
