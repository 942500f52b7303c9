import { sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { wordsOf } from '../../domain/notifications/notification-words.ts';
import { type SummaryToMail, startOfSummary } from '../../domain/notifications/summaries.ts';
import { unsubscribeUrl } from '../../domain/notifications/unsubscribe-token.ts';
import type { MailFrequency } from '../../entities/user.ts';
import { t } from '../../text/catalogue.ts';
import { readerOf, writeFor } from '../../text/language.ts';
import { shortLine } from '../../text/plain-text.ts';
import { deliver } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { beingMailed, lockNotifications } from './lock-notifications.ts';
import { type MailableNotification, mailableNotifications, pageOfNotification } from './mailable-notifications.ts';
import { type Mailer, requireMailer } from './mailer.ts';
import { type MailContent, writeSummaryMail } from './write-mail.ts';

/** The maximum number of notifications that a summary shows. The page of the notifications has all of them. */
const maxEntries = 30;

interface OfMember {
  accountId: number;
  userId: number;
}

/** Selects the newest notifications of a member that are neither read nor mailed. */
const selectNewest = query('select_notifications_of_summary', (db, $: Arguments<OfMember>) =>
  mailableNotifications(db, $.accountId)
    .innerJoin('accounts as a', 'a.id', 'n.account_id')
    .select(['a.name as account_name', 'a.slug as account_slug'])
    .where('a.id', '=', $.accountId)
    .where('n.user_id', '=', $.userId)
    .where('n.read_at', 'is', null)
    .where('n.created_at', '>', startOfSummary)
    .orderBy('n.id', 'desc')
    .limit(sql.lit(maxEntries + 1)),
);

type SummarizedNotification = RowOf<typeof selectNewest>;

/**
 * Marks the notifications of a summary as mailed, and all notifications before `beforeId`, because the summary shows only
 * the newest ones. Does not mark every notification up to the newest one, because another transaction may just have added
 * one of them, which the summary lacks.
 */
const markMailed = query(
  'mark_notifications_of_summary',
  (db, $: Arguments<OfMember & { ids: readonly number[]; beforeId: number; now: Date }>) =>
    db
      .updateTable('notifications')
      .set({ mailed_at: $.now })
      .where(n => n.and({ account_id: $.accountId, user_id: $.userId }))
      .where('mailed_at', 'is', null)
      .where(n => n.or([n('id', '=', n.fn.any($.ids)), n('id', '<', $.beforeId)])),
);

/**
 * Builds the task that mails a person the summary of their notifications in one account. Without notifications, the task
 * mails nothing. A job that runs again after a crash sends at most one summary twice.
 *
 * Another job can be mailing a notification of the summary, for example the daily summary when the person changes to
 * immediate mails. The task then fails and runs again later. It must not just leave out the notification, because
 * graphile-worker does not retry a running job after a job with the same key was added.
 */
export function mailSummary(deps: TaskDependencies) {
  const { config, database, clock, locks, logger, unsubscribeTokens, metrics } = deps;

  return requireMailer(deps)(async (mailer, { account_id: accountId, user_id: userId, frequency }: SummaryToMail) => {
    const ids = (await database.query(selectNewest, { accountId, userId })).map(({ id }) => id);
    const unlock = await lockNotifications(locks, ids);
    if (!unlock) throw new Error(beingMailed);
    try {
      const newest = await database.query(selectNewest, { accountId, userId });
      if (newest.some(({ id }) => !ids.includes(id))) throw new Error('The summary has new notifications');
      await mailLocked(mailer, newest, { accountId, userId, frequency });
    } finally {
      await unlock();
    }
  });

  async function mailLocked(
    mailer: Mailer,
    newest: readonly SummarizedNotification[],
    { accountId, userId, frequency }: OfMember & { frequency: MailFrequency },
  ): Promise<void> {
    const [last] = newest;
    if (!last) return;
    const endingUrl = unsubscribeUrl(config, unsubscribeTokens.make({ userId, ideaId: 'all' }));
    const content = writeFor(readerOf(last.language), () => write(newest, last, frequency, endingUrl));
    const messageId = `summary-${accountId}-${last.id}@${new URL(config.BASE_URL).hostname}`;
    const mail = { ...content, to: last.address, messageId, references: [], unsubscribeUrl: endingUrl };
    const outcome = await deliver(mailer, mail, { metrics });
    if (outcome.result === 'failed') throw new Error(outcome.reason);
    if (outcome.result === 'delivered') {
      const ids = newest.map(({ id }) => id);
      const beforeId = newest.length > maxEntries ? Math.min(...ids) : 0;
      await database.query(markMailed, { accountId, userId, ids, beforeId, now: clock.now() });
    } else logger.info({ userId }, 'the mail server refuses mail to a user');
  }

  function write(
    newest: readonly MailableNotification[],
    { account_name, account_slug }: { account_name: string; account_slug: string },
    frequency: MailFrequency,
    endingUrl: string,
  ): MailContent {
    const account = shortLine(account_name, 60, t('mails.an_account'));
    const hasMore = newest.length > maxEntries;
    const shown = newest.slice(0, maxEntries).reverse();
    const pathIn = (path: string) => `${config.BASE_URL}${path}?account=${account_slug}`;
    return writeSummaryMail({
      subject: t(hasMore ? 'mails.summary.subject_of_many' : 'mails.summary.subject', { count: shown.length, account }),
      entries: shown.map(notification => ({ ...wordsOf(notification), url: pageOfNotification(config, notification) })),
      more: {
        label: t(hasMore ? 'mails.summary.more' : 'mails.summary.all'),
        url: pathIn('/admin/profile/notifications'),
      },
      reason: t(`mails.summary.${frequency}`),
      settings: { label: t('mails.summary.settings'), url: pathIn('/admin/profile') },
      ending: { label: t('mails.notification.no_more_mail'), url: endingUrl },
    });
  }
}
