import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

const updateRead = statement<{ id: number }>(
  'mark_notifications_read',
  `update notifications set read_at = $3
  where user_id = $1 and read_at is null and ($2::bigint[] is null or id = any ($2))
  returning id`,
);

/** Marks notifications of a user as read: those named, or all. Answers how many were not. */
export async function markRead(
  db: Queryable,
  userId: number,
  ids: readonly number[] | 'all',
  now: Date,
): Promise<number> {
  return (await db.query(updateRead, [userId, ids === 'all' ? null : ids, now])).length;
}
