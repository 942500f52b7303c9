import type { Administration } from '../administration.ts';

/** Notifications by their ids, all up to one id (newer ones stay unread), or all. */
export type Notifications = readonly number[] | { upToId: number } | 'all';

/** Marks notifications of a person as read, in all their accounts. Returns how many were unread. */
export async function markRead(admin: Administration, userId: number, which: Notifications): Promise<number> {
  const unread = admin.db
    .updateTable('notifications')
    .set({ read_at: admin.now })
    .where('user_id', '=', userId)
    .where('read_at', 'is', null);
  const marked =
    which === 'all'
      ? unread
      : 'upToId' in which
        ? unread.where('id', '<=', which.upToId)
        : unread.where(n => n('id', '=', n.fn.any(n.val(which))));
  const { numUpdatedRows } = await marked.executeTakeFirst();
  const count = Number(numUpdatedRows);
  if (count > 0) admin.audit.record('notifications.read', { user_id: userId, count });
  return count;
}
