import type { QueryBuilding } from '../../database/database.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** A user and an idea. */
export interface Following {
  ideaId: number;
  userId: number;
}

/** Tells a member of what happens to an idea from now on. Answers whether that is new. */
export async function followIdea(
  admin: Administration,
  accountId: number,
  { ideaId, userId }: Following,
): Promise<boolean> {
  const row = await admin.db
    .with('idea', cte =>
      cte
        .selectFrom('ideas')
        .select('id')
        .where('account_id', '=', accountId)
        .where('id', '=', ideaId)
        .where('moderation_state', '=', 'published'),
    )
    .with('member', cte =>
      cte.selectFrom('memberships').select('user_id').where('account_id', '=', accountId).where('user_id', '=', userId),
    )
    .with('added', cte =>
      cte
        .insertInto('followers')
        .columns(['idea_id', 'user_id', 'account_id', 'created_at'])
        .expression(from =>
          from
            .selectFrom(['idea', 'member'])
            .select(eb => [
              'idea.id',
              'member.user_id',
              eb.val(accountId).as('account_id'),
              eb.val(admin.now).as('created_at'),
            ]),
        )
        .onConflict(conflict => conflict.doNothing())
        .returning('idea_id'),
    )
    .selectNoFrom(eb => [
      eb.exists(eb.selectFrom('idea').select('idea.id')).as('has_idea'),
      eb.exists(eb.selectFrom('member').select('member.user_id')).as('is_member'),
      eb.exists(eb.selectFrom('added').select('added.idea_id')).as('is_changed'),
    ])
    .executeTakeFirstOrThrow();
  if (!row.has_idea) throw new AdministrationError('not_found', `The account has no published idea ${ideaId}`);
  if (!row.is_member) throw new AdministrationError('forbidden', 'Only members of the account can follow its ideas');
  if (!row.is_changed) return false;
  admin.audit.record('idea.followed', { account_id: accountId, idea_id: ideaId, user_id: userId });
  return true;
}

/** Ends what followIdea began. Answers whether the user followed the idea. */
export async function unfollowIdea(admin: Administration, { ideaId, userId }: Following): Promise<boolean> {
  // Without the account: the link in a mail names only the user and the idea.
  const ended = await admin.db
    .deleteFrom('followers')
    .where('idea_id', '=', ideaId)
    .where('user_id', '=', userId)
    .returning('account_id')
    .executeTakeFirst();
  if (!ended) return false;
  admin.audit.record('idea.unfollowed', { account_id: ended.account_id, idea_id: ideaId, user_id: userId });
  return true;
}

/** Whether a user is told of what happens to an idea. */
export async function isFollowing(
  { db }: QueryBuilding,
  accountId: number,
  { ideaId, userId }: Following,
): Promise<boolean> {
  const follower = await db
    .selectFrom('followers')
    .select('user_id')
    .where('account_id', '=', accountId)
    .where('idea_id', '=', ideaId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return follower !== undefined;
}
