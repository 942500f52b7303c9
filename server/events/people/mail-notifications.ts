import { statement } from '../../database/statement.ts';
import { ideaUrl } from '../idea-url.ts';
import { type NotificationKind, writeMail } from './mail-content.ts';
import type { Mailer, MailOutcome } from './mailer.ts';
import type { PeopleDependencies } from './people-tasks.ts';
import { type Subscription, unsubscribeUrl } from './unsubscribe-token.ts';

/** A notification that is still to be mailed, with what the mail says. */
interface DueNotification {
  id: number;
  kind: NotificationKind;
  user_id: number;
  address: string;
  idea_id: number | null;
  /** Of the ideas that the event is about, one that the user follows: what ends with the link in the mail. */
  followed_id: number | null;
  target_id: number | null;
  board: string | null;
  board_slug: string | null;
  title: string | null;
  target_title: string | null;
  actor: string | null;
  status_label: string | null;
  comment: string | null;
  detail: string | null;
  endpoint_url: string | null;
}

/** Who was blocked, left or unfollowed since the notification was made gets no mail of it any more. */
const selectDue = statement<DueNotification>(
  'select_due_notifications',
  `select n.id, n.kind, n.user_id, u.notification_email as address, e.idea_id, f.idea_id as followed_id, e.target_id,
    e.body #>> '{data,board,name}' as board, e.body #>> '{data,board,slug}' as board_slug,
    e.body #>> '{data,idea,title}' as title, e.body #>> '{data,target,title}' as target_title,
    e.body #>> '{data,actor,name}' as actor, e.body #>> '{data,idea,status_label}' as status_label,
    e.body #>> '{data,comment,body}' as comment,
    case n.kind
      when 'idea.pending' then left(e.body #>> '{data,idea,body}', 1001)
      when 'idea.rejected' then e.body #>> '{data,reason}'
      when 'webhook.disabled' then w.disabled_reason
    end as detail,
    w.url as endpoint_url
  from notifications n
  join users u on u.id = n.user_id
  join memberships m on m.account_id = n.account_id and m.user_id = n.user_id
  left join lateral (
    select e.idea_id, e.body, (e.body #>> '{data,target,id}')::bigint as target_id from events e where e.id = n.event_id
  ) e on true
  left join lateral (
    select f.idea_id from followers f
    where f.user_id = n.user_id
      and (f.idea_id = e.idea_id or (n.kind = 'idea.merged' and f.idea_id = e.target_id))
    order by f.idea_id = e.idea_id desc
    limit 1
  ) f on true
  left join webhook_endpoints w on w.id = n.endpoint_id
  where n.id = any ($1) and n.mailed_at is null and u.notification_email is not null
    and not exists (select from user_blocks b where b.account_id = n.account_id and b.user_id = n.user_id)
    and (f.idea_id is not null
      or n.kind not in ('idea.status_changed', 'idea.merged', 'idea.unmerged', 'comment.created'))
  order by n.id`,
);

const markMailed = statement<never>('mark_mailed', 'update notifications set mailed_at = $2 where id = $1');

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
    const due = await database.query(selectDue, [ids]);
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
    if (outcome === 'sent') await database.query(markMailed, [notification.id, clock.now()]);
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
