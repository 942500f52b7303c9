import type { Administration } from '../domain/administration.ts';
import { invitationDays, inviteMember } from '../domain/invitations/invite-member.ts';
import { invitationUrl } from '../domain/invitations/mailed-link.ts';
import { listInvitations, requireInvitation, revokeInvitation } from '../domain/invitations/open-invitations.ts';
import { addMember, type Member, removeMember, setMemberRole } from '../domain/members/change-members.ts';
import { listMembers, type MemberView, readMember } from '../domain/members/list-members.ts';
import { type Role, roles } from '../entities/membership.ts';
import { chooseAccount, chooseMember, findLinkBase, inAccount, ofUser } from './choose.ts';
import { argument, flag, limit, noun, operation, parsePositive, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

const role = required('<role>', 'what the member may do', { choices: roles });

export const addMemberCommands = noun('member', 'who belongs to an account, and in which role', {
  add: operation({
    description: 'Makes a user a member of an account.',
    examples: ['member add --account acme --user grace@example.com --role moderator'],
    input: { ...inAccount, ...ofUser, role },
    run: giving(addMember),
    text: formatMember,
  }),
  invite: operation({
    description: `Invites an address to become a member, by a link that works once, within ${invitationDays} days. It is mailed where SMTP_URL is set, and printed where it is not. To invite again makes another link.`,
    examples: ['member invite --account acme --email grace@example.com --role moderator'],
    input: { email: required('<email>', 'the address, which need not be of a user'), ...inAccount, role },
    async run(admin, { account: slug, ...input }, config) {
      const { id: accountId } = await chooseAccount(admin, slug);
      const isMailed = config.SMTP_URL !== undefined;
      const { token, expiresAt, ...invitation } = await inviteMember(admin, { accountId, ...input }, { isMailed });
      const url = token === undefined ? null : invitationUrl(await findLinkBase(admin, config), token);
      return { ...invitation, expires_at: expiresAt.toISOString(), url };
    },
    text: ({ url, email }) => url ?? `The invitation of ${email} is on its way.`,
  }),
  list: operation({
    description: 'Lists the members of an account, owners first.',
    examples: ['member list --account acme'],
    input: { ...inAccount, limit },
    run: async (admin, { account, limit }) => listMembers(admin, (await chooseAccount(admin, account)).id, { limit }),
    text: rows => formatTable(rows, 'email', 'name', 'role', 'is_blocked', ['since', 'created_at']),
  }),
  'set-role': operation({
    description: 'Gives a member another role. The last owner cannot be demoted.',
    examples: ['member set-role --account acme --user grace@example.com --role admin'],
    input: { ...inAccount, ...ofUser, role },
    run: giving(setMemberRole),
    text: formatMember,
  }),
  remove: operation({
    description:
      'Ends a membership, with the OAuth connections and API tokens that the user issued. What the user wrote stays. The last owner cannot be removed.',
    examples: ['member remove --account acme --user grace@example.com'],
    input: { ...inAccount, ...ofUser, keepTokens: flag('keep the API tokens that the user issued') },
    async run(admin, { keepTokens: keepsTokens = false, ...named }) {
      const member = await chooseMember(admin, named);
      const before = await readMember(admin, member);
      await removeMember(admin, member, { keepsTokens });
      return before;
    },
    text: (_, { user }) => `Removed ${user}.`,
  }),
});

function giving(change: (admin: Administration, member: Member, role: Role) => Promise<void>) {
  return async (admin: Administration, { role, ...named }: { account?: string; user: string; role: Role }) => {
    const member = await chooseMember(admin, named);
    await change(admin, member, role);
    return readMember(admin, member);
  };
}

function formatMember(member: MemberView | undefined): string {
  if (!member) return 'None.';
  const { email, name, role, is_blocked, created_at: since } = member;
  return formatFacts({ email, name, role, is_blocked, since });
}

export const addInvitationCommands = noun(
  'invitation',
  'who is invited to an account and has not joined yet; member invite invites',
  {
    list: operation({
      description: 'Lists the open invitations, the last one first.',
      examples: ['invitation list --account acme'],
      input: { ...inAccount, limit },
      run: async (admin, { account, limit }) =>
        listInvitations(admin, (await chooseAccount(admin, account)).id, { limit }),
      text: rows => formatTable(rows, 'id', 'email', 'role', ['by', 'inviter'], 'delivery', 'expires_at'),
    }),
    revoke: operation({
      description: 'Takes an invitation back: its link works no more.',
      examples: ['invitation revoke 7 --account acme'],
      input: {
        id: argument('<id>', 'the id of the invitation, as invitation list shows it', parsePositive),
        ...inAccount,
      },
      async run(admin, { id, account }) {
        const { id: accountId } = await chooseAccount(admin, account);
        const before = await requireInvitation(admin, accountId, id);
        await revokeInvitation(admin, accountId, id);
        return before;
      },
      text: ({ email }) => `Revoked the invitation of ${email}.`,
    }),
  },
);
