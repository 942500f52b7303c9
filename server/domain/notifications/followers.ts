import type { QueryBuilding } from '../../database/database.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';

interface Following {
  ideaId: number;
  userId: number;
}

/** Makes a member follow an idea. Returns false if the member already follows the idea. */
export async function followIdea(admin: Administration, accountId: number, { ideaId, userId }: Following) {
  const row = await admin.db
    .with('idea', cte =>
      cte
        .selectFrom('ideas')
        .select('id')
        .where(idea => idea.and({ account_id: accountId, id: ideaId, moderation_state: 'published' })),
    )
    .with('member', cte =>
      cte
        .selectFrom('memberships')
        .select('user_id')
        .where(member => member.and({ account_id: accountId, user_id: userId })),
    )
    .with('added', cte =>
      cte
        .insertInto('followers')
        .columns(['idea_id', 'user_id', 'account_id', 'created_at'])
        .expression(from =>
          from
            .selectFrom(['idea', 'member'])
            .select(['idea.id', 'member.user_id'])
            .select(eb => [eb.val(accountId).as('account_id'), eb.val(admin.now).as('created_at')]),
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
  if (!row.has_idea) throw new AdministrationError('not_found', t('refusals.idea.unknown_published', { id: ideaId }));
  if (!row.is_member) throw new AdministrationError('forbidden', t('refusals.idea.not_member'));
  if (!row.is_changed) return false;
  admin.audit.record('idea.followed', { account_id: accountId, idea_id: ideaId, user_id: userId });
  return true;
}

/**
 * Makes a user unfollow an idea. Returns false if the user did not follow the idea. If `accountId` is not null, the
 * function also returns false for an idea of another account.
 */
export async function unfollowIdea(
  admin: Administration,
  { ideaId, userId }: Following,
  accountId: number | null = null,
): Promise<boolean> {
  // Without `accountId`, this statement searches all accounts, because an unsubscribe link contains only the user and
  // the idea.
  const ended = await admin.db
    .deleteFrom('followers')
    .where(follower => follower.and({ idea_id: ideaId, user_id: userId }))
    .$if(accountId !== null, follower => follower.where('account_id', '=', accountId))
    .returning('account_id')
    .executeTakeFirst();
  if (!ended) return false;
  admin.audit.record('idea.unfollowed', { account_id: ended.account_id, idea_id: ideaId, user_id: userId });
  return true;
}

export async function requireIdeaOf({ db }: Administration, accountId: number, ideaId: number): Promise<void> {
  await db
    .selectFrom('ideas')
    .select('id')
    .where(idea => idea.and({ account_id: accountId, id: ideaId }))
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.idea.unknown', { id: ideaId })));
}

/** Lists the followers of an idea, earliest follower first. A follower without a notification_email gets no mail. */
export async function listFollowers(admin: Administration, accountId: number, ideaId: number, limit: number) {
  await requireIdeaOf(admin, accountId, ideaId);
  return admin.db
    .selectFrom('followers as f')
    .innerJoin('users as u', 'u.id', 'f.user_id')
    .select(['u.email', 'u.name', 'u.notification_email', 'f.created_at'])
    .where(f => f.and({ 'f.account_id': accountId, 'f.idea_id': ideaId }))
    .where('u.is_placeholder', '=', false)
    .orderBy('f.created_at')
    .orderBy('u.id')
    .limit(limit)
    .execute();
}

/**
 * Lists the ideas that a user follows in the given accounts, the newest idea first. Leaves out deleted ideas. The caller
 * passes only accounts that the session reaches, because the user may not see the titles of ideas of other accounts.
 *
 * The query selects the rows of the page before it joins the other tables. Otherwise PostgreSQL would read all followed
 * ideas for a page of 26 rows.
 */
export function listFollowedIdeas(
  { db }: QueryBuilding,
  { userId, accountIds }: { userId: number; accountIds: readonly number[] },
  { beforeIdeaId = Number.MAX_SAFE_INTEGER, limit }: { beforeIdeaId?: number | undefined; limit: number },
) {
  return db
    .with(
      cte => cte('page').materialized(),
      cte =>
        cte
          .selectFrom('followers as f')
          .select(['f.idea_id', 'f.account_id', 'f.created_at'])
          .where('f.user_id', '=', userId)
          .where('f.idea_id', '<', beforeIdeaId)
          .where(f => f('f.account_id', '=', f.fn.any(f.val(accountIds))))
          .where(f =>
            f.not(
              f.exists(
                f
                  .selectFrom('ideas as d')
                  .whereRef('d.account_id', '=', 'f.account_id')
                  .whereRef('d.id', '=', 'f.idea_id')
                  .where('d.moderation_state', '=', 'deleted'),
              ),
            ),
          )
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
    .orderBy('f.idea_id', 'desc')
    .execute();
}
