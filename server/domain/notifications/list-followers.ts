import { statement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';
import { requireIdeaOf } from './find-idea.ts';

export interface FollowerView {
  email: string;
  name: string;
  /** Where the follower gets mail; null for nowhere. */
  notification_email: string | null;
  created_at: string;
}

const selectFollowers = statement<FollowerView>(
  'select_followers',
  `select u.email, u.name, u.notification_email, f.created_at
  from followers f join users u on u.id = f.user_id
  where f.idea_id = $1 and not u.is_placeholder
  order by f.created_at, u.id
  limit $2`,
);

/** Lists who follows an idea of an account; who has followed longest stands first. */
export async function listFollowers(
  admin: Administration,
  accountId: number,
  ideaId: number,
  limit: number,
): Promise<FollowerView[]> {
  await requireIdeaOf(admin, accountId, ideaId);
  return admin.query(selectFollowers, [ideaId, limit]);
}
