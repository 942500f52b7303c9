import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

const clearNotificationEmail = statement<never>(
  'clear_notification_email',
  'update users set notification_email = null where id = $1 and notification_email is not null',
);

/** Sends a user no mail any more. What the user is told in the app stays. */
export async function endMail(db: Queryable, userId: number): Promise<void> {
  await db.query(clearNotificationEmail, [userId]);
}
