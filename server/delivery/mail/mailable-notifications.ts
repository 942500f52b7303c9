import type { Expression, InferResult, Kysely } from 'kysely';
import type { Config } from '../../config.ts';
import type { Tables } from '../../database/tables.ts';
import { targetIdInEvent, textInEvent } from '../../domain/events/recorded-event.ts';
import { type LinkToIdea, linkToIdeas } from '../../domain/ideas/present-idea.ts';
import { activeMemberships } from '../../domain/members/authority.ts';
import { contentOfNotification } from '../../domain/notifications/notification-content.ts';
import { hasIdeaPage, type NotificationKind } from '../../domain/notifications/notification-words.ts';
import { isForRole } from '../../domain/notifications/notifications.ts';

/** A notification that may be mailed, with the contents of its mail. */
export type MailableNotification = InferResult<ReturnType<typeof mailableNotifications>>[number];

/** The kinds of notifications that are mailed only to users who still follow the idea. */
const followedKinds = ['idea.status_changed', 'idea.merged', 'idea.unmerged', 'comment.created'];

/**
 * Selects the notifications of an account that are not mailed yet. The SQL alias of the notification is `n`. Skips users
 * without an address, and users who were blocked, left the account, lost the role, unfollowed the idea or turned off
 * mentions after the notification was created. `followed_id` is the idea that the user stops following with the mail's
 * unsubscribe link.
 */
export function mailableNotifications(db: Kysely<Tables>, accountId: Expression<number>) {
  return db
    .selectFrom('notifications as n')
    .innerJoin('users as u', 'u.id', 'n.user_id')
    .innerJoin(activeMemberships(db, accountId).select(['m.user_id', 'm.role']).as('m'), 'm.user_id', 'n.user_id')
    .leftJoin('events as e', join => join.on('e.account_id', '=', accountId).onRef('e.id', '=', 'n.event_id'))
    .leftJoinLateral(
      from =>
        from
          .selectFrom('followers as f')
          .select('f.idea_id')
          .where('f.account_id', '=', accountId)
          .whereRef('f.user_id', '=', 'n.user_id')
          .where(f =>
            f.or([
              f('f.idea_id', '=', f.ref('e.idea_id')),
              f.and([f('n.kind', '=', 'idea.merged'), f('f.idea_id', '=', targetIdInEvent)]),
            ]),
          )
          .orderBy(f => f('f.idea_id', '=', f.ref('e.idea_id')), 'desc')
          .limit(1)
          .as('f'),
      join => join.onTrue(),
    )
    .leftJoin('webhook_endpoints as w', join =>
      join.on('w.account_id', '=', accountId).onRef('w.id', '=', 'n.endpoint_id'),
    )
    .select(n => [
      'n.id',
      'n.account_id',
      n.ref('n.kind').$castTo<NotificationKind>().as('kind'),
      'n.user_id',
      n.ref('u.notification_email').$notNull().as('address'),
      'u.language',
      'e.idea_id',
      'f.idea_id as followed_id',
      targetIdInEvent.as('target_id'),
      textInEvent('board', 'slug').as('board_slug'),
    ])
    .select(contentOfNotification(1001))
    .where('n.account_id', '=', accountId)
    .where('n.mailed_at', 'is', null)
    .where('u.notification_email', 'is not', null)
    .where(n => isForRole(n.ref('n.kind'), n.ref('m.role')))
    .where(n => n.or([n('f.idea_id', 'is not', null), n('n.kind', 'not in', followedKinds)]))
    .where(n => n.or([n('u.wants_mentions', '=', true), n('n.kind', '<>', 'user.mentioned')]))
    .where(n =>
      n.or([
        // About a deleted idea, only the notification of its deletion may be mailed.
        n('n.kind', '=', 'idea.deleted'),
        n.not(
          n.exists(
            n
              .selectFrom('ideas as i')
              .where('i.account_id', '=', accountId)
              .whereRef('i.id', '=', 'e.idea_id')
              .where('i.moderation_state', '=', 'deleted'),
          ),
        ),
      ]),
    );
}

/**
 * Returns the URL of the page with more information about a notification. Returns null for a rejected or deleted idea,
 * because its author cannot open its page. A merged idea is shown on the page of its target. The page of a notification
 * about a comment shows this comment.
 */
export function pageOfNotification(
  config: Parameters<typeof linkToIdeas>[0] & Pick<Config, 'BASE_URL'>,
  { kind, idea_id, target_id, board_slug, comment_id }: MailableNotification,
): ReturnType<LinkToIdea> | null {
  if (!hasIdeaPage(kind)) return null;
  const shownId = kind === 'idea.merged' ? target_id : idea_id;
  return shownId === null || board_slug === null
    ? config.BASE_URL
    : linkToIdeas(config, board_slug)(shownId, comment_id);
}
