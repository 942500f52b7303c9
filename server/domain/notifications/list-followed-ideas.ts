import { type InferResult, sql } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';

export type FollowedIdea = InferResult<ReturnType<typeof followedIdeas>>[number];

/**
 * The accounts in which a user is told of ideas. This has no filter on the account, because it looks up what a person may
 * see in all of them.
 */
function accountsOfFollower({ db }: QueryBuilding, userId: number) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .select('m.account_id')
    .where('m.user_id', '=', userId)
    .where('a.erasure_began_at', 'is', null)
    .where(m =>
      m.not(
        m.exists(
          m
            .selectFrom('user_blocks as x')
            .select('x.user_id')
            .whereRef('x.account_id', '=', 'm.account_id')
            .where('x.user_id', '=', userId),
        ),
      ),
    );
}

/**
 * The page is taken first, in the order of its index. If everything is joined at once, the planner reads all followed
 * ideas for a page of 26 rows, because it does not see that hardly anybody is blocked.
 */
function followedIdeas(queryable: QueryBuilding, userId: number, beforeIdeaId: number | undefined, limit: number) {
  const accountIds = sql<number[]>`array(${accountsOfFollower(queryable, userId)})`;
  return queryable.db
    .with(
      cte => cte('page').materialized(),
      cte =>
        cte
          .selectFrom('followers as f')
          .select(['f.idea_id', 'f.account_id', 'f.created_at'])
          .where('f.user_id', '=', userId)
          .$if(beforeIdeaId !== undefined, f => f.where('f.idea_id', '<', beforeIdeaId ?? 0))
          .where(f => f('f.account_id', '=', f.fn.any(accountIds)))
          .orderBy('f.idea_id', 'desc')
          .limit(limit),
    )
    .selectFrom('page as f')
    .innerJoin('ideas as i', join => join.onRef('i.id', '=', 'f.idea_id').onRef('i.account_id', '=', 'f.account_id'))
    .innerJoin('statuses as s', join =>
      join.onRef('s.id', '=', 'i.status_id').onRef('s.account_id', '=', 'f.account_id'),
    )
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').onRef('b.account_id', '=', 'f.account_id'))
    .innerJoin('accounts as a', 'a.id', 'f.account_id')
    .select(['i.id as idea_id', 'i.title', 's.label as status_label', 's.category as status_category'])
    .select(['a.slug as account', 'a.name as account_name', 'b.slug as board', 'b.name as board_name'])
    .select(i =>
      i
        .and([i('b.is_public', '=', true), i('i.moderation_state', '=', 'published'), i('s.is_hidden', '=', false)])
        .$castTo<boolean>()
        .as('is_public'),
    )
    .select('f.created_at as followed_at')
    .orderBy('f.idea_id', 'desc');
}

/**
 * Lists the ideas that a user follows and is told of, the newest idea first. Leaves out the accounts that the user left
 * or is blocked in: the user is told nothing of them, and sees no titles of them either.
 */
export function listFollowedIdeas(
  queryable: QueryBuilding,
  userId: number,
  { beforeIdeaId, limit }: { beforeIdeaId?: number | undefined; limit: number },
): Promise<FollowedIdea[]> {
  return followedIdeas(queryable, userId, beforeIdeaId, limit).execute();
}
