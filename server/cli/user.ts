import type { Command } from 'commander';
import type { Administration } from '../domain/administration.ts';
import { blockUser, unblockUser } from '../domain/users/block-user.ts';
import { createUser } from '../domain/users/create-user.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { listUsers, readUser, type UserView } from '../domain/users/list-users.ts';
import { updateUser } from '../domain/users/update-user.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, given, limitOption, nullForNone, userOption } from './command.ts';
import { formatFacts, formatTable, type OutputOptions, print } from './output.ts';

interface ListOptions extends OutputOptions {
  account?: string;
  limit: number;
}

interface UpdateOptions extends OutputOptions {
  user: string;
  name?: string;
  email?: string;
  notificationEmail?: string;
}

interface BlockOptions extends OutputOptions {
  account?: string;
  user: string;
  reason?: string;
}

export function addUserCommands(program: Command) {
  const noun = program.command('user').description('people: each may be a member of several accounts');

  addVerb(noun, 'create', 'Creates a user.', 'user create --email grace@example.com --name "Grace"')
    .requiredOption('--email <email>', 'the address, which identifies the user whatever its case')
    .requiredOption('--name <name>', 'what the user is called')
    .action(create);

  addVerb(
    noun,
    'list',
    'Lists users by address: all, or those who are members of an account or blocked in it.',
    'user list --account acme',
  )
    .option('--account <slug>', 'only users of this account')
    .addOption(limitOption())
    .action(list);

  addVerb(
    noun,
    'update',
    'Changes a user. What is not given stays as it is.',
    'user update --user grace@example.com --notification-email grace+ideas@example.com',
  )
    .addOption(userOption())
    .option('--name <name>', 'another name')
    .option('--email <email>', 'another address')
    .option('--notification-email <email|none>', 'where notifications are sent; none for nowhere')
    .action(update);

  addVerb(
    noun,
    'block',
    'Keeps a user, and the tokens that the user issued, from writing in an account.',
    'user block --account acme --user mallory@example.com --reason "Spam"',
  )
    .addOption(accountOption())
    .addOption(userOption())
    .option('--reason <text>', 'why')
    .action(({ reason, ...options }: BlockOptions) =>
      setBlock(options, (admin, blocking) => blockUser(admin, blocking, reason)),
    );

  addVerb(noun, 'unblock', 'Lets a blocked user write again.', 'user unblock --account acme --user mallory@example.com')
    .addOption(accountOption())
    .addOption(userOption())
    .action((options: BlockOptions) => setBlock(options, unblockUser));
}

async function create({ email, name, ...output }: { email: string; name: string } & OutputOptions) {
  const view = await administer(async admin => {
    const user = await createUser(admin, { email, name });
    return readUser(admin, user.id);
  });
  print(output, view, formatUser);
}

async function list({ account: slug, limit, ...output }: ListOptions) {
  const users = await administer(async admin => {
    const accountId = slug === undefined ? null : (await chooseAccount(admin, slug)).id;
    return listUsers(admin, accountId, limit);
  });
  print(output, users, rows =>
    formatTable(rows, {
      EMAIL: user => user.email,
      NAME: user => user.name,
      'NOTIFICATIONS TO': user => user.notification_email,
      ACCOUNTS: formatAccounts,
    }),
  );
}

async function update({ user: email, json, notificationEmail, ...changes }: UpdateOptions) {
  const view = await administer(async admin => {
    const user = await requireUser(admin, email);
    await updateUser(admin, user, { ...changes, ...given({ notificationEmail: nullForNone(notificationEmail) }) });
    return readUser(admin, user.id);
  });
  print(given({ json }), view, formatUser);
}

async function setBlock(
  { account: slug, user: email, ...output }: Omit<BlockOptions, 'reason'>,
  set: (admin: Administration, blocking: { accountId: number; userId: number }) => Promise<void>,
) {
  const view = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    const user = await requireUser(admin, email);
    await set(admin, { accountId: account.id, userId: user.id });
    return readUser(admin, user.id);
  });
  print(output, view, formatUser);
}

function formatUser(user: UserView): string {
  return formatFacts({
    id: user.id,
    email: user.email,
    name: user.name,
    'notifications to': user.notification_email,
    accounts: formatAccounts(user),
    'deletion requested': user.deletion_requested_at,
    created: user.created_at,
  });
}

/** `acme (owner), other (member, blocked: Spam)` */
function formatAccounts(user: UserView): string {
  return user.accounts
    .map(({ slug, role, is_blocked, block_reason }) => {
      const blocked = is_blocked ? (block_reason ? `blocked: ${block_reason}` : 'blocked') : null;
      return `${slug} (${[role ?? 'not a member', blocked].filter(Boolean).join(', ')})`;
    })
    .join(', ');
}
