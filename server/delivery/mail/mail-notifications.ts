import type { TaskList } from 'graphile-worker';
import { type Arguments, query } from '../../database/query.ts';
import type { NotificationToMail } from '../../domain/notifications/notifications.ts';
import { type Subscription, unsubscribeUrl } from '../../domain/notifications/unsubscribe-token.ts';
import { readerOf, writeFor } from '../../text/language.ts';
import { deliver } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { beingMailed, lockNotifications } from './lock-notifications.ts';
import { type MailableNotification, mailableNotifications, pageOfNotification } from './mailable-notifications.ts';
import { type Mail, type Mailer, requireMailer } from './mailer.ts';
import { writeNotificationMail } from './write-mail.ts';

/** Searches all accounts, because a job from an older version of the server does not contain the id of its account. */
const selectAccount = query('select_account_of_notifications', (db, $: Arguments<{ ids: readonly number[] }>) =>
  db
    .selectFrom('notifications as n')
    .select('n.account_id')
    .where(n => n('n.id', '=', n.fn.any($.ids)))
    .limit(1),
);

/**
 * Selects a notification that is due. If its recipient has changed to summaries, the notification waits for the next
 * summary. The mail about a disabled webhook is always sent immediately.
 */
const selectDue = query('select_due_notification', (db, $: Arguments<{ accountId: number; id: number }>) =>
  mailableNotifications(db, $.accountId)
    .where('n.id', '=', $.id)
    .where(n => n.or([n('u.mail_frequency', '=', 'immediately'), n('n.kind', '=', 'webhook.disabled')])),
);

const markMailed = query('mark_mailed', (db, $: Arguments<{ accountId: number; id: number; now: Date }>) =>
  db
    .updateTable('notifications as n')
    .set({ mailed_at: $.now })
    .where('n.account_id', '=', $.accountId)
    .where('n.id', '=', $.id),
);

/**
 * Builds the tasks that send notifications by mail. A job sends at most 100 mails, one after the other. The server
 * marks each notification right after its mail was sent. So a job that runs again after a crash sends at most one mail
 * twice. If the mail server does not accept some mails now, the worker retries only these mails.
 *
 * While a job is running, a recipient can change to summaries, and a summary can contain a notification of the job. So
 * the job locks and reads each notification right before its mail.
 */
export function mailNotifications(deps: TaskDependencies) {
  const { config, database, clock, locks, logger, unsubscribeTokens, stopping, metrics } = deps;
  const mailTask = requireMailer(deps);

  return {
    mail_people: mailTask(async (mailer, notifications: NotificationToMail[]) => {
      const ids = notifications.map(({ id }) => id);
      return mailAll(mailer, ids, notifications[0]?.account_id);
    }),

    /**
     * The task for jobs from an older version of the server. The payload of such a job is a list of notification ids.
     */
    mail_notifications: mailTask(async (mailer, ids: number[]) => {
      const [found] = await database.query(selectAccount, { ids });
      return mailAll(mailer, ids, found?.account_id);
    }),
  } satisfies TaskList;

  async function mailAll(mailer: Mailer, ids: number[], accountId: number | undefined) {
    if (accountId === undefined) return;
    const failures = new Map<number, unknown>();
    // The reason why the mail server accepts no mail now. A later try or another process sends the remaining mails.
    let obstacle: unknown;
    for (const id of ids) {
      if (stopping.aborted) obstacle ??= new Error('The worker stops');
      const failure = obstacle ?? (await mailOne(mailer, { accountId, id }).catch(error => (obstacle = error)));
      if (failure !== undefined) failures.set(id, failure);
    }
    // Returns a rejected promise for each failed notification. graphile-worker then retries the entry of the payload at
    // the same position.
    return ids.map(id => (failures.has(id) ? Promise.reject(failures.get(id)) : undefined));
  }

  /**
   * Sends one mail and marks its notification as mailed. If only this mail failed, returns the error. If no mail can be
   * sent now, throws.
   */
  async function mailOne(mailer: Mailer, one: { accountId: number; id: number }): Promise<Error | undefined> {
    const unlock = await lockNotifications(locks, [one.id]);
    if (!unlock) return new Error(beingMailed);
    try {
      const [notification] = await database.query(selectDue, one);
      return notification && (await mailLocked(mailer, notification));
    } finally {
      await unlock();
    }
  }

  async function mailLocked(mailer: Mailer, notification: MailableNotification): Promise<Error | undefined> {
    const outcome = await deliver(mailer, mailOf(notification), { metrics });
    if (outcome.result === 'failed') return new Error(outcome.reason);
    const { id, account_id: accountId } = notification;
    if (outcome.result === 'delivered') await database.query(markMailed, { accountId, id, now: clock.now() });
    else logger.info({ userId: notification.user_id }, 'the mail server refuses mail to a user');
    return undefined;
  }

  function mailOf(notification: MailableNotification): Mail {
    const { id, idea_id } = notification;
    const endingUrl = unsubscribeUrl(config, unsubscribeTokens.make(subscriptionOf(notification)));
    const content = writeFor(readerOf(notification.language), () =>
      writeNotificationMail({
        ...notification,
        url: pageOfNotification(config, notification),
        unsubscribeUrl: endingUrl,
      }),
    );
    const host = new URL(config.BASE_URL).hostname;
    return {
      ...content,
      to: notification.address,
      messageId: `notification-${id}@${host}`,
      references: idea_id === null ? [] : [`idea-${idea_id}@${host}`],
      unsubscribeUrl: endingUrl,
    };
  }
}

/**
 * Returns the subscription that a mail's unsubscribe link ends: all notification mails to the user, the notifications of
 * mentions, or the following of one idea.
 */
function subscriptionOf({ kind, user_id, idea_id, followed_id }: MailableNotification): Subscription {
  if (kind === 'user.mentioned') return { userId: user_id, ideaId: 'mentions' };
  if (kind === 'idea.pending' || kind === 'webhook.disabled') return { userId: user_id, ideaId: 'all' };
  return { userId: user_id, ideaId: followed_id ?? idea_id ?? 'all' };
}
