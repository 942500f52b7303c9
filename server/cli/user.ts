import { cancelUserDeletion, requestUserDeletion } from '../domain/erasure/request-deletion.ts';
import { resetSecondFactor } from '../domain/second-factor/second-factor.ts';
import { createPasswordLink, passwordLinkMinutes, passwordLinkUrl } from '../domain/sign-in/password-links.ts';
import { blockUser, unblockUser } from '../domain/users/block-user.ts';
import { createUser, updateUser } from '../domain/users/edit-user.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { listUsers, readUser, type UserView } from '../domain/users/list-users.ts';
import { chooseAccount, findLinkBase, onMember, onUser } from './choose.ts';
import { given, limit, noun, nullForNone, operation, optional, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

const changeUser = onUser.changing((admin, { id }) => readUser(admin, id), formatUser);
const changeBlock = onMember.changing((admin, { userId }) => readUser(admin, userId), formatUser);

export const addUserCommands = noun('user', 'users, who can be members of several accounts', {
  create: operation({
    description: 'Creates a user.',
    examples: ['user create --email grace@example.com --name "Grace"'],
    input: {
      email: required('<email>', 'the email address; every spelling of it finds the user'),
      name: required('<name>', 'the name'),
    },
    run: async (admin, input) => readUser(admin, (await createUser(admin, input)).id),
    text: formatUser,
  }),
  list: operation({
    description: 'Lists users by email address: all users, or the members and blocked users of an account.',
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
  update: changeUser({
    description: 'Changes a user. Omitted options stay unchanged.',
    examples: ['user update --user grace@example.com --notification-email grace+ideas@example.com'],
    input: {
      name: optional('<name>', 'another name'),
      email: optional('<email>', 'another email address'),
      notificationEmail: optional('<email|none>', 'the address for notifications, or none'),
    },
    change: (admin, user, { notificationEmail, ...changes }) =>
      updateUser(admin, user, { ...changes, ...given({ notificationEmail: nullForNone(notificationEmail) }) }),
  }),
  block: changeBlock({
    description:
      'Blocks a user from writing in an account, also with API tokens that the user issued. Ends the OAuth connections of the user there.',
    examples: ['user block --account acme --user mallory@example.com --reason "Spam"'],
    input: { reason: optional('<text>', 'the reason') },
    change: (admin, member, { reason }) => blockUser(admin, member, reason),
  }),
  'request-deletion': onUser.operation({
    description:
      'Schedules a user for deletion. Nothing changes until the grace period ends; then cleanup erases the user.',
    examples: ['user request-deletion --user grace@example.com'],
    async run(admin, { id }) {
      const held_by = await requestUserDeletion(admin, id);
      return { ...(await readUser(admin, id)), held_by };
    },
    text({ held_by, ...user }) {
      const held = held_by.length === 0 ? '' : `\n\nNot erased as long as the user is ${held_by.join(' and ')}.`;
      return `${formatUser(user)}${held}`;
    },
  }),
  'cancel-deletion': changeUser({
    description: 'Cancels the deletion of a user, unless the erasure has begun.',
    examples: ['user cancel-deletion --user grace@example.com'],
    change: (admin, { id }) => cancelUserDeletion(admin, id),
  }),
  'password-link': operation({
    description: `Prints a link to set a password for the web pages. It works once, within ${passwordLinkMinutes} minutes. Anybody with the link can sign in as the user.`,
    examples: ['user password-link --email grace@example.com'],
    input: { email: required('<email>', "the user's email address or id") },
    async run(admin, { email: named }, config) {
      const { id, email } = await requireUser(admin, named);
      const { token, expiresAt } = await createPasswordLink(admin, id);
      const url = passwordLinkUrl(await findLinkBase(admin, config), token);
      return { email, url, expires_at: expiresAt.toISOString() };
    },
    text: ({ url }) => url,
  }),
  'reset-second-factor': changeUser({
    description:
      'Turns off two-factor sign-in for a user who has lost the authenticator app and the recovery codes. The user gets a notice by mail. First make sure that the request comes from this person.',
    examples: ['user reset-second-factor --user grace@example.com'],
    change: (admin, { id }) => resetSecondFactor(admin, id),
  }),
  unblock: changeBlock({
    description: 'Unblocks a user.',
    examples: ['user unblock --account acme --user mallory@example.com'],
    change: unblockUser,
  }),
});

function formatUser(user: UserView): string {
  return formatFacts({ ...user, accounts: formatAccounts(user) }, { notification_email: 'notifications to' });
}

/** Formats the accounts of a user, such as `acme (owner), other (member, blocked: Spam)`. */
function formatAccounts(user: UserView): string {
  return user.accounts
    .map(({ slug, role, is_blocked, block_reason }) => {
      const blocked = is_blocked ? (block_reason ? `blocked: ${block_reason}` : 'blocked') : null;
      return `${slug} (${[role ?? 'not a member', blocked].filter(Boolean).join(', ')})`;
    })
    .join(', ');
}
