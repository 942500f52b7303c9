import { type Command, Option } from 'commander';
import type { Administration } from '../domain/administration.ts';
import { invitationDays, inviteMember } from '../domain/invitations/invite-member.ts';
import { invitationUrl } from '../domain/invitations/mailed-link.ts';
import { addMember, type Member, removeMember, setMemberRole } from '../domain/members/change-members.ts';
import { listMembers, type MemberView, readMember } from '../domain/members/list-members.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { type Role, roles } from '../entities/membership.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, limitOption, userOption } from './command.ts';
import { findLinkBase } from './link-base.ts';
import { formatFacts, formatTable, type OutputOptions, print } from './output.ts';

interface MemberOptions extends OutputOptions {
  account?: string;
  user: string;
}

interface RoleOptions extends MemberOptions {
  role: Role;
}

interface RemoveOptions extends MemberOptions {
  keepTokens?: boolean;
}

interface InviteOptions extends OutputOptions {
  account?: string;
  email: string;
  role: Role;
}

interface ListOptions extends OutputOptions {
  account?: string;
  limit: number;
}

const roleOption = () => new Option('--role <role>', 'what the member may do').choices(roles).makeOptionMandatory();

export function addMemberCommands(program: Command) {
  const noun = program.command('member').description('who belongs to an account, and in which role');

  addVerb(
    noun,
    'add',
    'Makes a user a member of an account.',
    'member add --account acme --user grace@example.com --role moderator',
  )
    .addOption(accountOption())
    .addOption(userOption())
    .addOption(roleOption())
    .action(({ role, ...options }: RoleOptions) =>
      changeMember(options, (admin, member) => addMember(admin, member, role)),
    );

  addVerb(
    noun,
    'invite',
    `Invites an address to become a member, by a link that works once, within ${invitationDays} days. It is mailed where SMTP_URL is set, and printed where it is not. To invite again makes another link.`,
    'member invite --account acme --email grace@example.com --role moderator',
  )
    .requiredOption('--email <email>', 'the address, which need not be of a user')
    .addOption(accountOption())
    .addOption(roleOption())
    .action(invite);

  addVerb(noun, 'list', 'Lists the members of an account, owners first.', 'member list --account acme')
    .addOption(accountOption())
    .addOption(limitOption())
    .action(list);

  addVerb(
    noun,
    'set-role',
    'Gives a member another role. The last owner cannot be demoted.',
    'member set-role --account acme --user grace@example.com --role admin',
  )
    .addOption(accountOption())
    .addOption(userOption())
    .addOption(roleOption())
    .action(({ role, ...options }: RoleOptions) =>
      changeMember(options, (admin, member) => setMemberRole(admin, member, role)),
    );

  addVerb(
    noun,
    'remove',
    'Ends a membership, with the OAuth connections and API tokens that the user issued. What the user wrote stays. The last owner cannot be removed.',
    'member remove --account acme --user grace@example.com',
  )
    .addOption(accountOption())
    .addOption(userOption())
    .option('--keep-tokens', 'keep the API tokens that the user issued')
    .action(remove);
}

async function changeMember(
  { account, user, ...output }: MemberOptions,
  change: (admin: Administration, member: Member) => Promise<void>,
) {
  const view = await administer(async admin => {
    const member = await chooseMember(admin, account, user);
    await change(admin, member);
    return readMember(admin, member);
  });
  print(output, view, formatMember);
}

async function invite({ account: slug, email, role, ...output }: InviteOptions) {
  const view = await administer(async (admin, config) => {
    const account = await chooseAccount(admin, slug);
    const isMailed = config.SMTP_URL !== undefined;
    const { token, expiresAt, ...invitation } = await inviteMember(
      admin,
      { accountId: account.id, email, role },
      { isMailed },
    );
    const url = token === undefined ? null : invitationUrl(await findLinkBase(admin, config), token);
    return { ...invitation, expires_at: expiresAt.toISOString(), url };
  });
  print(output, view, ({ url }) => url ?? `The invitation of ${view.email} is on its way.`);
}

async function list({ account: slug, limit, ...output }: ListOptions) {
  const members = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    return listMembers(admin, account.id, { limit });
  });
  print(output, members, rows =>
    formatTable(rows, {
      EMAIL: member => member.email,
      NAME: member => member.name,
      ROLE: member => member.role,
      BLOCKED: member => member.is_blocked,
      SINCE: member => member.created_at,
    }),
  );
}

async function remove({ account, user, keepTokens: keepsTokens = false, ...output }: RemoveOptions) {
  const view = await administer(async admin => {
    const member = await chooseMember(admin, account, user);
    const before = await readMember(admin, member);
    await removeMember(admin, member, { keepsTokens });
    return before;
  });
  print(output, view, () => `Removed ${user}.`);
}

async function chooseMember(admin: Administration, slug: string | undefined, email: string): Promise<Member> {
  const account = await chooseAccount(admin, slug);
  const user = await requireUser(admin, email);
  return { accountId: account.id, userId: user.id };
}

function formatMember(member: MemberView | undefined): string {
  if (!member) return 'None.';
  return formatFacts({
    email: member.email,
    name: member.name,
    role: member.role,
    blocked: member.is_blocked,
    since: member.created_at,
  });
}
