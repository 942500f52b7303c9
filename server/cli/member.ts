import { invitationDays, inviteMember } from '../domain/invitations/invite-member.ts';
import { invitationUrl } from '../domain/invitations/mailed-link.ts';
import { listInvitations, requireInvitation, revokeInvitation } from '../domain/invitations/open-invitations.ts';
import { addMember, removeMember, setMemberRole } from '../domain/members/change-members.ts';
import { listMembers, type MemberView, readMember } from '../domain/members/list-members.ts';
import { roles } from '../entities/membership.ts';
import { findLinkBase, onAccount, onMember } from './choose.ts';
import { argument, flag, limit, noun, parsePositive, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

const changeMember = onMember.changing(readMember, formatMember);

const role = required('<role>', 'the role', { choices: roles });

export const addMemberCommands = noun('member', 'the members of an account and their roles', {
  add: changeMember({
    description: 'Makes a user a member of an account.',
    examples: ['member add --account acme --user grace@example.com --role moderator'],
    input: { role },
    change: (admin, member, { role }) => addMember(admin, member, role),
  }),
  invite: onAccount.operation({
    description: `Invites somebody to become a member, by a link that works once, within ${invitationDays} days. With SMTP_URL the link is mailed, otherwise printed. A second invitation replaces the link.`,
    examples: ['member invite --account acme --email grace@example.com --role moderator'],
    input: { email: required('<email>', 'the email address; it need not belong to a user yet'), role },
    async run(admin, { id: accountId }, input, config) {
      const isMailed = config.SMTP_URL !== undefined;
      const { token, expiresAt, ...invitation } = await inviteMember(admin, { accountId, ...input }, { isMailed });
      const url = token === undefined ? null : invitationUrl(await findLinkBase(admin, config), token);
      return { ...invitation, expires_at: expiresAt.toISOString(), url };
    },
    text: ({ url, email }) => url ?? `The invitation of ${email} will be mailed.`,
  }),
  list: onAccount.operation({
    description: 'Lists the members of an account, owners first.',
    examples: ['member list --account acme'],
    input: { limit },
    run: (admin, { id }, { limit }) => listMembers(admin, id, { limit }),
    text: rows => formatTable(rows, 'email', 'name', 'role', 'is_blocked', ['since', 'created_at']),
  }),
  'set-role': changeMember({
    description: 'Changes the role of a member. The last owner cannot be demoted.',
    examples: ['member set-role --account acme --user grace@example.com --role admin'],
    input: { role },
    change: (admin, member, { role }) => setMemberRole(admin, member, role),
  }),
  remove: onMember.operation({
    description:
      'Removes a member, the OAuth connections of the user and the API tokens that the user issued. The contributions stay. The last owner cannot be removed.',
    examples: ['member remove --account acme --user grace@example.com'],
    input: { keepTokens: flag('keep the API tokens that the user issued') },
    async run(admin, member, { keepTokens: keepsTokens = false }) {
      const before = await readMember(admin, member);
      await removeMember(admin, member, { keepsTokens });
      return before;
    },
    text: (_, { user }) => `Removed ${user}.`,
  }),
});

function formatMember(member: MemberView | undefined): string {
  if (!member) return 'None.';
  const { email, name, role, is_blocked, created_at: since } = member;
  return formatFacts({ email, name, role, is_blocked, since });
}

export const addInvitationCommands = noun(
  'invitation',
  'open invitations to an account; to invite, use member invite',
  {
    list: onAccount.operation({
      description: 'Lists the open invitations, newest first.',
      examples: ['invitation list --account acme'],
      input: { limit },
      run: (admin, { id }, { limit }) => listInvitations(admin, id, { limit }),
      text: rows => formatTable(rows, 'id', 'email', 'role', ['by', 'inviter'], 'delivery', 'expires_at'),
    }),
    revoke: onAccount.operation({
      description: 'Revokes an invitation and its link.',
      examples: ['invitation revoke 7 --account acme'],
      input: { id: argument('<id>', 'the id of the invitation, from invitation list', parsePositive) },
      async run(admin, { id: accountId }, { id }) {
        const before = await requireInvitation(admin, accountId, id);
        await revokeInvitation(admin, accountId, id);
        return before;
      },
      text: ({ email }) => `Revoked the invitation of ${email}.`,
    }),
  },
);
