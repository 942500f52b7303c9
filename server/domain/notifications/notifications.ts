import { type Expression, expressionBuilder, type InferResult } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { administeringRoles, moderatingRoles, type Role } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';
import { textInEvent } from '../events/recorded-event.ts';
import { contentOfNotification } from './notification-content.ts';
import type { NotificationKind } from './notification-words.ts';

export type NotificationView = InferResult<ReturnType<typeof notificationsOf>>[number];

interface NotificationFilter {
  isUnreadOnly?: boolean;
  /**
   * The accounts that the user's session reaches. If given, leaves out the notifications of all other accounts, and
   * notifications for a role that the user no longer has.
   */
  accountIds?: readonly number[];
  beforeId?: number | undefined;
  limit: number;
}

/**
 * Selects the notifications of a user in all accounts. If everyone can read the notification's idea now, `public_board`
 * is the slug of the public board of this idea.
 */
function notificationsOf({ db }: QueryBuilding, userId: number) {
  return db
    .selectFrom('notifications as n')
    .innerJoin('accounts as a', 'a.id', 'n.account_id')
    .leftJoin('events as e', join => join.onRef('e.id', '=', 'n.event_id').onRef('e.account_id', '=', 'n.account_id'))
    .leftJoin('webhook_endpoints as w', join =>
      join.onRef('w.id', '=', 'n.endpoint_id').onRef('w.account_id', '=', 'n.account_id'),
    )
    .select(['n.id', 'n.kind', 'a.slug as account'])
    .select([textInEvent('board', 'slug').as('board'), 'e.idea_id'])
    .select(contentOfNotification(501))
    .select(n =>
      n
        .selectFrom('ideas as i')
        .innerJoin('statuses as s', join =>
          join.onRef('s.id', '=', 'i.status_id').onRef('s.account_id', '=', 'i.account_id'),
        )
        .innerJoin('boards as b', join =>
          join.onRef('b.id', '=', 'i.board_id').onRef('b.account_id', '=', 'i.account_id'),
        )
        .select('b.slug')
        .whereRef('i.account_id', '=', 'n.account_id')
        .whereRef('i.id', '=', 'e.idea_id')
        .where('i.moderation_state', '=', 'published')
        .where('b.is_public', '=', true)
        .where('s.is_hidden', '=', false)
        .as('public_board'),
    )
    .select(['n.created_at', 'n.read_at', 'n.mailed_at'])
    .where('n.user_id', '=', userId)
    .orderBy('n.id', 'desc')
    .$narrowType<{ kind: NotificationKind }>();
}

/** The condition that a member with this role may still read a notification of this kind. */
export function isForRole(kind: Expression<string>, role: Expression<Role>) {
  const eb = expressionBuilder<Tables>();
  return eb.and([
    eb.or([eb(kind, '<>', 'idea.pending'), eb(role, 'in', moderatingRoles)]),
    eb.or([eb(kind, '<>', 'webhook.disabled'), eb(role, 'in', administeringRoles)]),
  ]);
}

export function listNotifications(
  queryable: QueryBuilding,
  userId: number,
  accountId: number | null,
  { isUnreadOnly = false, accountIds, beforeId = Number.MAX_SAFE_INTEGER, limit }: NotificationFilter,
): Promise<NotificationView[]> {
  return notificationsOf(queryable, userId)
    .where('n.id', '<', beforeId)
    .$if(accountId !== null, n => n.where('n.account_id', '=', accountId))
    .$if(accountIds !== undefined, notifications =>
      notifications
        .where(n => n('n.account_id', '=', n.fn.any(n.val(accountIds ?? []))))
        .where(n =>
          n.exists(
            n
              .selectFrom('memberships as m')
              .whereRef('m.account_id', '=', 'n.account_id')
              .whereRef('m.user_id', '=', 'n.user_id')
              .where(m => isForRole(m.ref('n.kind'), m.ref('m.role'))),
          ),
        ),
    )
    .$if(isUnreadOnly, n => n.where('n.read_at', 'is', null))
    .limit(limit)
    .execute();
}

/**
 * Marks notifications as read: the notifications with the given ids, all notifications up to an id, or all
 * notifications. If an account is given, marks only notifications of this account. Returns how many of the marked
 * notifications were unread.
 */
export async function markRead(
  admin: Administration,
  userId: number,
  which: readonly number[] | { upToId: number } | 'all',
  accountId: number | null = null,
): Promise<number> {
  const unread = admin.db
    .updateTable('notifications')
    .set({ read_at: admin.now })
    .where(row => row.and({ user_id: userId, read_at: null }))
    .$if(accountId !== null, n => n.where('account_id', '=', accountId));
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

/** Turns off a user's notification mails. The user still gets notifications in the app. */
export function endMail(admin: Administration, userId: number): Promise<void> {
  return endNotifications(admin, userId, 'notification_email', null);
}

/** Turns off a user's notifications of mentions, in the app and by mail. */
export function endMentions(admin: Administration, userId: number): Promise<void> {
  return endNotifications(admin, userId, 'wants_mentions', false);
}

async function endNotifications(
  admin: Administration,
  userId: number,
  column: 'notification_email' | 'wants_mentions',
  value: null | false,
): Promise<void> {
  const { numUpdatedRows } = await admin.db
    .updateTable('users')
    .set({ [column]: value })
    .where('id', '=', userId)
    .where(column, 'is distinct from', value)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) admin.audit.record('user.updated', { user_id: userId, changed: [column] });
}

export interface NotificationToMail {
  account_id: number;
  id: number;
}
