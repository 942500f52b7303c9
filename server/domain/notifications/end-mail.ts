import { statement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';

const clearNotificationEmail = statement<{ id: number }>(
  'clear_notification_email',
  'update users set notification_email = null where id = $1 and notification_email is not null returning id',
);

/** Sends a user no mail any more. What the user is told in the app stays. */
export async function endMail(admin: Administration, userId: number): Promise<void> {
  const [cleared] = await admin.query(clearNotificationEmail, [userId]);
  if (cleared) admin.audit.record('user.updated', { user_id: userId, changed: ['notificationEmail'] });
}
