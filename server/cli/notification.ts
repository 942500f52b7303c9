import { type Command, Option } from 'commander';
import { requireAccount } from '../domain/accounts/find-account.ts';
import { listNotifications, type NotificationView } from '../domain/notifications/list-notifications.ts';
import { markRead } from '../domain/notifications/mark-read.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { administer } from './administer.ts';
import { addVerb, given, limitOption, parsePositive, userOption } from './command.ts';
import { formatTable, type OutputOptions, print, shorten } from './output.ts';

interface ListOptions extends OutputOptions {
  user: string;
  account?: string;
  unread?: true;
  before?: number;
  limit: number;
}

interface ReadOptions extends OutputOptions {
  user: string;
  all?: boolean;
}

export function addNotificationCommands(program: Command) {
  const noun = program.command('notification').description('what users are told of, in the app and by mail');

  addVerb(
    noun,
    'list',
    'Lists what a user was told, newest first.',
    'notification list --user grace@example.com --unread',
  )
    .addOption(userOption())
    .option('--account <slug>', 'only what happened in this account')
    .option('--unread', 'only what is not read')
    .addOption(new Option('--before <id>', 'only older ones than this').argParser(parsePositive))
    .addOption(limitOption())
    .action(list);

  addVerb(
    noun,
    'read',
    'Marks notifications of a user as read.',
    'notification read 7 8 --user grace@example.com',
    'notification read --all --user grace@example.com',
  )
    .argument('[ids...]', 'the ids of the notifications, as notification list shows them', addId)
    .addOption(userOption())
    .option('--all', 'all of them')
    .action(read);
}

async function list({ user: email, account: slug, unread, before, limit, ...output }: ListOptions) {
  const notifications = await administer(async admin => {
    const user = await requireUser(admin, email);
    const accountId = slug === undefined ? null : (await requireAccount(admin, slug)).id;
    const filter = { ...given({ isUnreadOnly: unread, beforeId: before }), limit };
    return listNotifications(admin, user.id, accountId, filter);
  });
  print(output, notifications, rows =>
    formatTable(rows, {
      ID: one => one.id,
      KIND: one => one.kind,
      ACCOUNT: one => one.account,
      ABOUT: formatSubject,
      BY: one => one.actor,
      CREATED: one => one.created_at,
      READ: one => one.read_at,
      MAILED: one => one.mailed_at,
    }),
  );
}

async function read(ids: number[], { user: email, all = false, ...output }: ReadOptions, command: Command) {
  if (all === ids.length > 0) {
    command.error('error: name what was read: ids, or --all', { exitCode: 2 });
  }
  const view = await administer(async admin => {
    const user = await requireUser(admin, email);
    return { read: await markRead(admin, user.id, all ? 'all' : ids) };
  });
  print(output, view, ({ read: count }) => `${count} marked as read.`);
}

function addId(text: string, previous: number[] | undefined): number[] {
  return [...(previous ?? []), parsePositive(text)];
}

function formatSubject({ board, idea_id, title, endpoint_url }: NotificationView): string {
  return endpoint_url === null ? `${board}/${idea_id} ${shorten(title ?? '', 50)}` : shorten(endpoint_url, 50);
}
