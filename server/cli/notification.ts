import { requireAccount } from '../domain/accounts/find-account.ts';
import { listNotifications, type NotificationView } from '../domain/notifications/list-notifications.ts';
import { markRead } from '../domain/notifications/mark-read.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { ofUser } from './choose.ts';
import { argument, flag, given, limit, noun, operation, optional, parsePositive } from './command.ts';
import { formatTable, shorten } from './output.ts';

export const addNotificationCommands = noun('notification', 'what users are told of, in the app and by mail', {
  list: operation({
    description: 'Lists what a user was told, newest first.',
    examples: ['notification list --user grace@example.com --unread'],
    input: {
      ...ofUser,
      account: optional('<slug>', 'only what happened in this account'),
      unread: flag('only what is not read'),
      before: optional('<id>', 'only older ones than this', { parse: parsePositive }),
      limit,
    },
    async run(admin, { user, account, unread, before, limit }) {
      const { id: userId } = await requireUser(admin, user);
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
  read: operation({
    description: 'Marks notifications of a user as read.',
    examples: ['notification read 7 8 --user grace@example.com', 'notification read --all --user grace@example.com'],
    input: {
      ids: argument('[ids...]', 'the ids of the notifications, as notification list shows them', addId),
      ...ofUser,
      all: flag('all of them'),
    },
    refuse: ({ ids, all = false }) => (all === ids.length > 0 ? 'name what was read: ids, or --all' : undefined),
    async run(admin, { ids, user, all }) {
      const { id: userId } = await requireUser(admin, user);
      return { read: await markRead(admin, userId, all ? 'all' : ids) };
    },
    text: ({ read: count }) => `${count} marked as read.`,
  }),
});

function addId(text: string, previous: number[] | undefined): number[] {
  return [...(previous ?? []), parsePositive(text)];
}

function formatSubject({ board, idea_id, title, endpoint_url }: NotificationView): string {
  return endpoint_url === null ? `${board}/${idea_id} ${shorten(title ?? '', 50)}` : shorten(endpoint_url, 50);
}
