import { sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { ideaUrl } from '../idea-url.ts';
import { type NotificationKind, writeMail } from './mail-content.ts';
import type { Mailer, MailOutcome } from './mailer.ts';
import type { PeopleDependencies } from './people-tasks.ts';
import { type Subscription, unsubscribeUrl } from './unsubscribe-token.ts';

/** A notification that is still to be mailed, with what the mail says. */
type DueNotification = RowOf<typeof selectDue>;

/** A user who unfollows the idea gets no mail of these kinds. */
const followedKinds = ['idea.status_changed', 'idea.merged', 'idea.unmerged', 'comment.created'];

const inBody = (path: string) => sql<string | null>`e.body #>> ${`{data,${path}}`}`;

/**
 * A user who was blocked, left or unfollowed since the notification was made gets no mail of it. followed_id is the idea
 * that the link in the mail unfollows. The payload is a list of ids and names no account, so each table is filtered by the
 * notification's.
 */
const selectDue = query('select_due_notifications', (db, $: Arguments<{ ids: readonly number[] }>) =>
  db
    .selectFrom('notifications as n')
    .innerJoin('users as u', 'u.id', 'n.user_id')
    .innerJoin('memberships as m', join =>
      join.onRef('m.account_id', '=', 'n.account_id').onRef('m.user_id', '=', 'n.user_id'),
    )
    .leftJoinLateral(
      from =>
        from
          .selectFrom('events as e')
          .select(['e.idea_id', 'e.body', sql<number | null>`(${inBody('target,id')})::bigint`.as('target_id')])
          .whereRef('e.account_id', '=', 'n.account_id')
          .whereRef('e.id', '=', 'n.event_id')
          .as('e'),
      join => join.onTrue(),
    )
    .leftJoinLateral(
      from =>
        from
          .selectFrom('followers as f')
          .select('f.idea_id')
          .whereRef('f.account_id', '=', 'n.account_id')
          .whereRef('f.user_id', '=', 'n.user_id')
          .where(f =>
            f.or([
              f('f.idea_id', '=', f.ref('e.idea_id')),
              f.and([f('n.kind', '=', 'idea.merged'), f('f.idea_id', '=', f.ref('e.target_id'))]),
            ]),
          )
          .orderBy(f => f('f.idea_id', '=', f.ref('e.idea_id')), 'desc')
          .limit(1)
          .as('f'),
      join => join.onTrue(),
    )
    .leftJoin('webhook_endpoints as w', join =>
      join.onRef('w.account_id', '=', 'n.account_id').onRef('w.id', '=', 'n.endpoint_id'),
    )
    .select(n => [
      'n.id',
      'n.account_id',
      n.ref('n.kind').$castTo<NotificationKind>().as('kind'),
      'n.user_id',
      n.ref('u.notification_email').$notNull().as('address'),
      'e.idea_id',
      'f.idea_id as followed_id',
      'e.target_id',
      inBody('board,name').as('board'),
      inBody('board,slug').as('board_slug'),
      inBody('idea,title').as('title'),
      inBody('target,title').as('target_title'),
      inBody('actor,name').as('actor'),
      inBody('idea,status_label').as('status_label'),
      inBody('comment,body').as('comment'),
      n
        .case('n.kind')
        .when('idea.pending')
        .then(sql<string | null>`left(${inBody('idea,body')}, 1001)`)
        .when('idea.rejected')
        .then(inBody('reason'))
        .when('webhook.disabled')
        .then(n.ref('w.disabled_reason'))
        .end()
        .as('detail'),
      'w.url as endpoint_url',
    ])
    .where(n => n('n.id', '=', n.fn.any($.ids)))
    .where('n.mailed_at', 'is', null)
    .where('u.notification_email', 'is not', null)
    .where(n =>
      n.not(
        n.exists(
          n
            .selectFrom('user_blocks as b')
            .whereRef('b.account_id', '=', 'n.account_id')
            .whereRef('b.user_id', '=', 'n.user_id'),
        ),
      ),
    )
    .where(n => n.or([n('f.idea_id', 'is not', null), n('n.kind', 'not in', followedKinds)]))
    .orderBy('n.id'),
);

const markMailed = query('mark_mailed', (db, $: Arguments<{ accountId: number; id: number; now: Date }>) =>
  db
    .updateTable('notifications as n')
    .set({ mailed_at: $.now })
    .where('n.account_id', '=', $.accountId)
    .where('n.id', '=', $.id),
);

/**
 * Mails notifications, whose ids are the payload (at most 100), one after the other. Each is marked right after it was
 * sent, so that a job that runs again after a crash sends one of them twice at most. Those that the mail server does
 * not take now are answered as failed: the worker tries them again later, and them alone.
 */
export function mailNotifications(deps: PeopleDependencies) {
  const { config, database, clock, logger, mailer, unsubscribeTokens, stopping, metrics } = deps;
  let isAbsenceLogged = false;

  return async (payload: unknown) => {
    const ids = payload as number[];
    if (!mailer) {
      if (!isAbsenceLogged) logger.warn('SMTP_URL is not set: notifications are not mailed');
      isAbsenceLogged = true;
      return;
    }
    const due = await database.query(selectDue, { ids });
    const failures = new Map<number, unknown>();
    // Why none can be sent any more: the rest is for a later try, or for another process.
    let obstacle: unknown;
    for (const notification of due) {
      if (stopping.aborted) obstacle ??= new Error('The worker stops');
      const failure = obstacle ?? (await mailOne(mailer, notification).catch(error => (obstacle = error)));
      if (failure !== undefined) failures.set(notification.id, failure);
    }
    // The form in which the worker is told which entries of a payload failed.
    return ids.map(id => (failures.has(id) ? Promise.reject(failures.get(id)) : undefined));
  };

  /** Sends one and marks it. Answers what keeps it from being sent now; rejects where that keeps all of them. */
  async function mailOne(to: Mailer, notification: DueNotification): Promise<Error | undefined> {
    const startedAt = performance.now();
    let outcome: MailOutcome | undefined;
    try {
      outcome = await sendOne(to, notification);
    } finally {
      metrics?.countDelivery('mail', outcome === 'sent' ? 'delivered' : 'failed', performance.now() - startedAt);
    }
    if (outcome === 'deferred') return new Error('The mail server does not take a message now');
    const { id, account_id: accountId } = notification;
    if (outcome === 'sent') await database.query(markMailed, { accountId, id, now: clock.now() });
    else logger.info({ userId: notification.user_id }, 'the mail server refuses mail to a user');
    return undefined;
  }

  function sendOne(to: Mailer, notification: DueNotification): Promise<MailOutcome> {
    const { id, kind, idea_id, board_slug, target_id } = notification;
    const endingUrl = unsubscribeUrl(config, unsubscribeTokens.make(subscriptionOf(notification)));
    // A rejected idea is shown to nobody, and a merged one by the idea that it is now part of.
    const shownId = kind === 'idea.merged' ? target_id : idea_id;
    const ideaPage = shownId === null || board_slug === null ? config.BASE_URL : ideaUrl(config, board_slug, shownId);
    const content = writeMail({
      ...notification,
      targetTitle: notification.target_title,
      statusLabel: notification.status_label,
      endpointUrl: notification.endpoint_url,
      url: kind === 'idea.rejected' ? null : ideaPage,
      unsubscribeUrl: endingUrl,
    });
    const host = new URL(config.BASE_URL).hostname;
    return to.send({
      ...content,
      to: notification.address,
      messageId: `notification-${id}@${host}`,
      references: idea_id === null ? [] : [`idea-${idea_id}@${host}`],
      unsubscribeUrl: endingUrl,
    });
  }
}

/** A notice that comes with a role ends with all mail; every other one with the idea. */
function subscriptionOf({ kind, user_id, idea_id, followed_id }: DueNotification): Subscription {
  if (kind === 'idea.pending' || kind === 'webhook.disabled') return { userId: user_id, ideaId: 'all' };
  return { userId: user_id, ideaId: followed_id ?? idea_id ?? 'all' };
}
