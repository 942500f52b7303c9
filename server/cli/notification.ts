import { requireAccount } from '../domain/accounts/find-account.ts';
import { listNotifications, markRead, type NotificationView } from '../domain/notifications/notifications.ts';
import { onUser } from './choose.ts';
import { argument, flag, given, limit, noun, optional, parsePositive } from './command.ts';
import { formatTable, shorten } from './output.ts';

export const addNotificationCommands = noun('notification', 'the notifications of users, in the app and by mail', {
  list: onUser.operation({
    description: 'Lists the notifications of a user, newest first.',
    examples: ['notification list --user grace@example.com --unread'],
    input: {
      account: optional('<slug>', 'only this account'),
      unread: flag('only unread ones'),
      before: optional('<id>', 'only ones older than this', { parse: parsePositive }),
      limit,
    },
    async run(admin, { id: userId }, { account, unread, before, limit }) {
      const accountId = account === undefined ? null : (await requireAccount(admin, account)).id;
      return listNotifications(admin, userId, accountId, {
        ...given({ isUnreadOnly: unread, beforeId: before }),
        limit,
      });
    },
    text: rows =>
      formatTable(
        rows,
        'id',
        'kind',
        'account',
        ['about', formatSubject],
        ['by', 'actor'],
        'created_at',
        'read_at',
        'mailed_at',
      ),
  }),
  read: onUser.operation({
    description: 'Marks notifications of a user as read.',
    examples: ['notification read 7 8 --user grace@example.com', 'notification read --all --user grace@example.com'],
    input: {
      ids: argument('[ids...]', 'the ids of the notifications, from notification list', addId),
      all: flag('all notifications'),
    },
    refuse: ({ ids, all = false }) => (all === ids.length > 0 ? 'give ids or --all' : undefined),
    run: async (admin, { id }, { ids, all }) => ({ read: await markRead(admin, id, all ? 'all' : ids) }),
    text: ({ read: count }) => `Marked as read: ${count}.`,
  }),
});

function addId(text: string, previous: number[] | undefined): number[] {
  return [...(previous ?? []), parsePositive(text)];
}

function formatSubject({ board, idea_id, title, endpoint_url }: NotificationView): string {
  return endpoint_url === null ? `${board}/${idea_id} ${shorten(title ?? '', 50)}` : shorten(endpoint_url, 50);
}
