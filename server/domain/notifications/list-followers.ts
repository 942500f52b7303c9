import type { InferResult } from 'kysely';
import type { Administration } from '../administration.ts';
import { requireIdeaOf } from './find-idea.ts';

/** A follower gets mail at the notification_email; null for no mail. */
export type FollowerView = InferResult<ReturnType<typeof followersOf>>[number];

function followersOf({ db }: Administration, accountId: number, ideaId: number) {
  return db
    .selectFrom('followers as f')
    .innerJoin('users as u', 'u.id', 'f.user_id')
    .select(['u.email', 'u.name', 'u.notification_email', 'f.created_at'])
    .where('f.account_id', '=', accountId)
    .where('f.idea_id', '=', ideaId)
    .where('u.is_placeholder', '=', false)
    .orderBy('f.created_at')
    .orderBy('u.id');
}

/** Lists the followers of an idea of an account. The oldest follower stands first. */
export async function listFollowers(
  admin: Administration,
  accountId: number,
  ideaId: number,
  limit: number,
): Promise<FollowerView[]> {
  await requireIdeaOf(admin, accountId, ideaId);
  return followersOf(admin, accountId, ideaId).limit(limit).execute();
}
