import type { Administration } from '../administration.ts';

/** Sends a user no mail any more. The user still gets notifications in the app. */
export async function endMail(admin: Administration, userId: number): Promise<void> {
  const { numUpdatedRows } = await admin.db
    .updateTable('users')
    .set({ notification_email: null })
    .where('id', '=', userId)
    .where('notification_email', 'is not', null)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) admin.audit.record('user.updated', { user_id: userId, changed: ['notificationEmail'] });
}
