import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** A user and an idea. */
export interface Following {
  ideaId: number;
  userId: number;
}

const insertFollower = statement<{ has_idea: boolean; is_member: boolean; is_changed: boolean }>(
  'insert_follower',
  `with idea as (
    select i.id, i.account_id from ideas i
    where i.id = $2 and i.account_id = $1 and i.moderation_state = 'published'
  ), member as (
    select m.user_id from memberships m where m.account_id = $1 and m.user_id = $3
  ), added as (
    insert into followers (idea_id, user_id, account_id, created_at)
    select i.id, m.user_id, i.account_id, $4 from idea i cross join member m
    on conflict do nothing
    returning idea_id
  )
  select exists (select from idea) as has_idea, exists (select from member) as is_member,
    exists (select from added) as is_changed`,
);

/** Tells a member of what happens to an idea from now on. Answers whether that is new. */
export async function followIdea(
  admin: Administration,
  accountId: number,
  { ideaId, userId }: Following,
): Promise<boolean> {
  const [row] = await admin.query(insertFollower, [accountId, ideaId, userId, admin.now]);
  if (!row?.has_idea) throw new AdministrationError('not_found', `The account has no published idea ${ideaId}`);
  if (!row.is_member) throw new AdministrationError('forbidden', 'Only members of the account can follow its ideas');
  if (row.is_changed) {
    admin.audit.record('idea.followed', { account_id: accountId, idea_id: ideaId, user_id: userId });
  }
  return row.is_changed;
}

const deleteFollower = statement<{ account_id: number }>(
  'delete_follower',
  'delete from followers where idea_id = $1 and user_id = $2 returning account_id',
);

/** Ends what followIdea began. Answers whether the user followed the idea. */
export async function unfollowIdea(admin: Administration, { ideaId, userId }: Following): Promise<boolean> {
  const [ended] = await admin.query(deleteFollower, [ideaId, userId]);
  if (!ended) return false;
  admin.audit.record('idea.unfollowed', { account_id: ended.account_id, idea_id: ideaId, user_id: userId });
  return true;
}

const selectFollower = statement<{ user_id: number }>(
  'select_follower',
  'select user_id from followers where idea_id = $1 and user_id = $2',
);

/** Whether a user is told of what happens to an idea. */
export async function isFollowing(db: Queryable, { ideaId, userId }: Following): Promise<boolean> {
  return (await db.query(selectFollower, [ideaId, userId])).length > 0;
}
