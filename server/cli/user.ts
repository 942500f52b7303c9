import type { Command } from 'commander';
import type { Administration } from '../domain/administration.ts';
import { cancelUserDeletion, requestUserDeletion } from '../domain/erasure/request-user-deletion.ts';
import { createPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../domain/sign-in/password-links.ts';
import { blockUser, unblockUser } from '../domain/users/block-user.ts';
import { createUser } from '../domain/users/create-user.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { listUsers, readUser, type UserView } from '../domain/users/list-users.ts';
import { updateUser } from '../domain/users/update-user.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, given, limitOption, nullForNone, userOption } from './command.ts';
import { findLinkBase } from './link-base.ts';
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

interface DeletionOptions extends OutputOptions {
  user: string;
}

interface BlockOptions extends OutputOptions {
  account?: string;
  user: string;
  reason?: string;
}

export function addUserCommands(program: Command) {
  const noun = program.command('user').description('people: each may be a member of several accounts');

  addVerb(noun, 'create', 'Creates a user.', 'user create --email grace@example.com --name "Grace"')
    .requiredOption('--email <email>', 'the address, which identifies the user whatever its spelling')
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
    'Keeps a user, and the API tokens that the user issued, from writing in an account. Ends the OAuth connections of the user there.',
    'user block --account acme --user mallory@example.com --reason "Spam"',
  )
    .addOption(accountOption())
    .addOption(userOption())
    .option('--reason <text>', 'why')
    .action(({ reason, ...options }: BlockOptions) =>
      setBlock(options, (admin, blocking) => blockUser(admin, blocking, reason)),
    );

  addVerb(
    noun,
    'request-deletion',
    'Starts the grace after which cleanup erases a user. Until then they may do everything as ever.',
    'user request-deletion --user grace@example.com',
  )
    .addOption(userOption())
    .action(requestDeletion);

  addVerb(
    noun,
    'cancel-deletion',
    'Lets a user stay after all, unless the erasure has begun.',
    'user cancel-deletion --user grace@example.com',
  )
    .addOption(userOption())
    .action(cancelDeletion);

  addVerb(
    noun,
    'password-link',
    `Prints a link by which a user chooses a password for the pages: it works once, within ${passwordLinkMinutes} minutes. Whoever has it can sign in as the user.`,
    'user password-link --email grace@example.com',
  )
    .requiredOption('--email <email>', 'the user, by address or id')
    .action(makePasswordLink);

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
      'DELETION REQUESTED': user => user.deletion_requested_at,
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

async function requestDeletion({ user: email, ...output }: DeletionOptions) {
  const result = await administer(async admin => {
    const user = await requireUser(admin, email);
    const held_by = await requestUserDeletion(admin, user.id);
    return { ...(await readUser(admin, user.id)), held_by };
  });
  print(output, result, ({ held_by, ...user }) => {
    const held = held_by.length === 0 ? [] : [`\nNot erased as long as the user is ${held_by.join(' and ')}.`];
    return [formatUser(user), ...held].join('\n');
  });
}

async function cancelDeletion({ user: email, ...output }: DeletionOptions) {
  const view = await administer(async admin => {
    const user = await requireUser(admin, email);
    await cancelUserDeletion(admin, user.id);
    return readUser(admin, user.id);
  });
  print(output, view, formatUser);
}

async function makePasswordLink({ email, ...output }: { email: string } & OutputOptions) {
  const view = await administer(async (admin, config) => {
    const user = await requireUser(admin, email);
    const { token, expiresAt } = await createPasswordLink(admin, user.id);
    const base = await findLinkBase(admin, config);
    return { email: user.email, url: passwordLinkUrl(base, token), expires_at: expiresAt.toISOString() };
  });
  print(output, view, ({ url }) => url);
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
    'erasure began': user.erasure_began_at,
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
