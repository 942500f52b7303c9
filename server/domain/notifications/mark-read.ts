import { statement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';

const updateRead = statement<{ count: number }>(
  'mark_notifications_read',
  `with marked as (
    update notifications set read_at = $3
    where user_id = $1 and read_at is null and ($2::bigint[] is null or id = any ($2)) and ($4::bigint is null or id <= $4)
    returning 1
  )
  select count(*)::int as count from marked`,
);

/** Some by their ids; one and all before it, so that what came since is not taken for read; or all that there are. */
export type Notifications = readonly number[] | { upToId: number } | 'all';

/** Marks notifications of a user as read. Answers how many were not. */
export async function markRead(admin: Administration, userId: number, which: Notifications): Promise<number> {
  const [ids, upToId] = which === 'all' ? [null, null] : 'upToId' in which ? [null, which.upToId] : [which, null];
  const [marked] = await admin.query(updateRead, [userId, ids, admin.now, upToId]);
  const count = marked?.count ?? 0;
  if (count > 0) admin.audit.record('notifications.read', { user_id: userId, count });
  return count;
}
