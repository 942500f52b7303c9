import { cancelUserDeletion, requestUserDeletion } from '../domain/erasure/request-deletion.ts';
import { createPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../domain/sign-in/password-links.ts';
import { blockUser, unblockUser } from '../domain/users/block-user.ts';
import { createUser, updateUser } from '../domain/users/edit-user.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { listUsers, readUser, type UserView } from '../domain/users/list-users.ts';
import { chooseAccount, chooseMember, findLinkBase, inAccount, ofUser } from './choose.ts';
import { given, limit, noun, nullForNone, operation, optional, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

export const addUserCommands = noun('user', 'people: each may be a member of several accounts', {
  create: operation({
    description: 'Creates a user.',
    examples: ['user create --email grace@example.com --name "Grace"'],
    input: {
      email: required('<email>', 'the address, which identifies the user whatever its spelling'),
      name: required('<name>', 'what the user is called'),
    },
    run: async (admin, input) => readUser(admin, (await createUser(admin, input)).id),
    text: formatUser,
  }),
  list: operation({
    description: 'Lists users by address: all, or those who are members of an account or blocked in it.',
    examples: ['user list --account acme'],
    input: { account: optional('<slug>', 'only users of this account'), limit },
    async run(admin, { account: slug, limit }) {
      const accountId = slug === undefined ? null : (await chooseAccount(admin, slug)).id;
      return listUsers(admin, accountId, limit);
    },
    text: rows =>
      formatTable(
        rows,
        'email',
        'name',
        ['notifications to', 'notification_email'],
        ['accounts', formatAccounts],
        'deletion_requested_at',
      ),
  }),
  update: operation({
    description: 'Changes a user. What is not given stays as it is.',
    examples: ['user update --user grace@example.com --notification-email grace+ideas@example.com'],
    input: {
      ...ofUser,
      name: optional('<name>', 'another name'),
      email: optional('<email>', 'another address'),
      notificationEmail: optional('<email|none>', 'where notifications are sent; none for nowhere'),
    },
    async run(admin, { user: named, notificationEmail, ...changes }) {
      const user = await requireUser(admin, named);
      await updateUser(admin, user, { ...changes, ...given({ notificationEmail: nullForNone(notificationEmail) }) });
      return readUser(admin, user.id);
    },
    text: formatUser,
  }),
  block: operation({
    description:
      'Keeps a user, and the API tokens that the user issued, from writing in an account. Ends the OAuth connections of the user there.',
    examples: ['user block --account acme --user mallory@example.com --reason "Spam"'],
    input: { ...inAccount, ...ofUser, reason: optional('<text>', 'why') },
    async run(admin, { reason, ...named }) {
      const member = await chooseMember(admin, named);
      await blockUser(admin, member, reason);
      return readUser(admin, member.userId);
    },
    text: formatUser,
  }),
  'request-deletion': operation({
    description: 'Starts the grace after which cleanup erases a user. Until then they may do everything as ever.',
    examples: ['user request-deletion --user grace@example.com'],
    input: ofUser,
    async run(admin, { user: named }) {
      const { id } = await requireUser(admin, named);
      const held_by = await requestUserDeletion(admin, id);
      return { ...(await readUser(admin, id)), held_by };
    },
    text({ held_by, ...user }) {
      const held = held_by.length === 0 ? '' : `\n\nNot erased as long as the user is ${held_by.join(' and ')}.`;
      return `${formatUser(user)}${held}`;
    },
  }),
  'cancel-deletion': operation({
    description: 'Lets a user stay after all, unless the erasure has begun.',
    examples: ['user cancel-deletion --user grace@example.com'],
    input: ofUser,
    async run(admin, { user: named }) {
      const { id } = await requireUser(admin, named);
      await cancelUserDeletion(admin, id);
      return readUser(admin, id);
    },
    text: formatUser,
  }),
  'password-link': operation({
    description: `Prints a link by which a user chooses a password for the pages: it works once, within ${passwordLinkMinutes} minutes. Whoever has it can sign in as the user.`,
    examples: ['user password-link --email grace@example.com'],
    input: { email: required('<email>', 'the user, by address or id') },
    async run(admin, { email: named }, config) {
      const { id, email } = await requireUser(admin, named);
      const { token, expiresAt } = await createPasswordLink(admin, id);
      const url = passwordLinkUrl(await findLinkBase(admin, config), token);
      return { email, url, expires_at: expiresAt.toISOString() };
    },
    text: ({ url }) => url,
  }),
  unblock: operation({
    description: 'Lets a blocked user write again.',
    examples: ['user unblock --account acme --user mallory@example.com'],
    input: { ...inAccount, ...ofUser },
    async run(admin, named) {
      const member = await chooseMember(admin, named);
      await unblockUser(admin, member);
      return readUser(admin, member.userId);
    },
    text: formatUser,
  }),
});

function formatUser(user: UserView): string {
  return formatFacts({ ...user, accounts: formatAccounts(user) }, { notification_email: 'notifications to' });
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
