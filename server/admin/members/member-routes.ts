import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { mayManage } from '../../domain/members/authority.ts';
import { removeMember, setMemberRole } from '../../domain/members/change-members.ts';
import { listMembers, type MemberPlace, type MemberView, readMember } from '../../domain/members/list-members.ts';
import { mayBlock } from '../../domain/users/block-user.ts';
import { roles } from '../../entities/membership.ts';
import { definePage } from '../../pages/shell/page.ts';
import { fieldOf, type Problem } from '../shell/form.ts';
import { isAdmin, requireAccount, requireAdminAccount } from '../shell/session.ts';
import { shownAddress, shownName, showTime } from '../shell/show.ts';
import { pageLinks, serveRoutes, type Visit } from '../shell/visit.ts';
import { serveInvitationLinks } from './accept-routes.ts';
import { serveInvitationPages } from './invitation-routes.ts';
import { choicesOf, presentRole, roleOf } from './present-role.ts';

const listPage = definePage<object>('admin/members/members');
const memberPage = definePage<object>('admin/members/member');

/** So many fit a page that is quick on a phone. */
const membersPerPage = 25;

const revokeField = 'revoke_tokens';

/** The members of an account and its invitations, for its owners and admins. Everybody may leave. */
export function serveMembers(app: FastifyInstance, server: ServerDependencies) {
  serveRoutes(app, server, requireAdminAccount, [
    { path: '/admin/members', show: showList },
    { path: '/admin/members/:id', show: showMember },
    { path: '/admin/members/:id/role', run: setRole, again: showMember },
    {
      path: '/admin/members/:id/remove',
      ask: async visit => ({
        title: 'Remove a member',
        verb: 'Remove',
        name: shownName((await requireMember(visit)).name),
        explanation:
          'What they wrote stays, and their votes still count. Their invitations stop working, and programs that they connected by OAuth are disconnected. API tokens that you keep go on working, but can no longer moderate. An invitation brings them back.',
        choice: { name: revokeField, label: 'Revoke the API tokens that they issued' },
        button: 'Remove the member',
        isDangerous: true,
        back: { label: 'Keep them', href: visit.path(`/admin/members/${visit.id()}`) },
      }),
      run: remove,
    },
  ]);
  serveRoutes(app, server, requireAccount, [
    {
      path: '/admin/members/leave',
      ask: visit => ({
        title: 'Leave the account',
        verb: 'Leave',
        name: shownName(visit.account.name),
        explanation:
          'You can no longer open its boards and pages. What you wrote stays, and your votes still count. Programs that you connected by OAuth are disconnected. API tokens that stay go on working, but can no longer moderate. Only an invitation brings you back.',
        choice: isAdmin(visit.account)
          ? { name: revokeField, label: 'Revoke the API tokens that you issued' }
          : undefined,
        button: 'Leave the account',
        isDangerous: true,
        back: { label: 'Stay', href: visit.path('/admin') },
      }),
      run: leave,
    },
  ]);
  serveInvitationPages(app, server);
  serveInvitationLinks(app, server);
}

async function showList(visit: Visit) {
  const { account } = visit;
  const { q, role, blocked, after, parameters } = readFilter(visit);
  const found = await visit.administer(admin =>
    listMembers(admin, account.id, {
      beginning: q === '' ? undefined : q,
      role,
      isBlocked: blocked === undefined ? undefined : blocked === 'yes',
      after,
      limit: membersPerPage + 1,
    }),
  );
  const members = found.slice(0, membersPerPage);
  const last = found.length > membersPerPage ? members.at(-1) : undefined;
  const choose = (choices: (readonly [value: string, label: string])[], chosen = '') =>
    choices.map(([value, label]) => ({ value, label, isChosen: value === chosen }));
  const data = {
    accountName: shownName(account.name),
    members: members.map(member => presentMember(visit, member)),
    form: {
      q,
      roles: choose([['', 'Every role'], ...roles.map(one => [one, presentRole(one).label] as const)], role),
      blocks: choose(
        [
          ['', 'Blocked or not'],
          ['yes', 'Blocked'],
          ['no', 'Not blocked'],
        ],
        blocked,
      ),
    },
    isFiltered: Object.keys(parameters).length > 0,
    // The form of the filter sends it along.
    accountSlug: visit.user.accounts.length > 1 ? account.slug : undefined,
    listPath: visit.path('/admin/members'),
    ...pageLinks(place => visit.path('/admin/members', { ...parameters, ...place }), {
      first: after !== undefined && 'First page',
      next: last && ['More members', { after: `${last.role}.${last.user_id}` }],
    }),
    invitationsPath: visit.path('/admin/members/invitations'),
    blocksPath: visit.path('/admin/blocks'),
    leavePath: visit.path('/admin/members/leave'),
  };
  return visit.page(listPage, 'Members', data, { notices: { removed: 'They are no member of the account any more.' } });
}

/** As long as a name may be, or most addresses. */
const maxBeginning = 100;

/** The filter of the address and the place in the list. Ignores invalid parameters. */
function readFilter({ request: { query } }: Visit) {
  const q = fieldOf(query, 'q').trim().slice(0, maxBeginning);
  const role = roleOf(fieldOf(query, 'role'));
  const blocked = ['yes', 'no'].find(value => value === fieldOf(query, 'blocked'));
  const [, word = '', id = ''] = /^([a-z]+)\.([1-9]\d{0,14})$/.exec(fieldOf(query, 'after')) ?? [];
  const roleOfLast = roleOf(word);
  const after: MemberPlace | undefined = roleOfLast && { role: roleOfLast, userId: Number(id) };
  const parameters = { ...(q && { q }), ...(role && { role }), ...(blocked && { blocked }) };
  return { q, role, blocked, after, parameters };
}

async function showMember(visit: Visit, problem?: Problem) {
  const { account } = visit;
  const member = await requireMember(visit);
  const shown = presentMember(visit, member);
  const chosen = problem ? visit.field('role') : member.role;
  const data = {
    member: shown,
    roles: mayManage(account.role, member.role) ? choicesOf(account.role, chosen) : undefined,
    rolePath: visit.path(`/admin/members/${member.user_id}/role`),
    removal: shown.isYou
      ? { label: 'Leave the account', href: visit.path('/admin/members/leave') }
      : { label: 'Remove from the account', href: visit.path(`/admin/members/${member.user_id}/remove`) },
    blocking:
      shown.isYou || !mayBlock(account.role, member.role)
        ? undefined
        : { label: member.is_blocked ? 'Unblock' : 'Block', href: visit.path(`/admin/blocks/${member.user_id}`) },
    listPath: visit.path('/admin/members'),
  };
  const notices = { role: `Their role is ${member.role} now.` };
  return visit.page(memberPage, shown.name, data, { notices, problem });
}

async function setRole(visit: Visit) {
  const { account } = visit;
  const userId = visit.id();
  const role = roleOf(visit.field('role'));
  if (!role) throw new AdministrationError('invalid', 'Choose a role');
  await visit.administer(admin => setMemberRole(admin, { accountId: account.id, userId }, role));
  // Somebody who is no admin any more has no page of members.
  const isOwn = userId === visit.user.id && !isAdmin({ ...account, role });
  return visit.path(isOwn ? '/admin' : `/admin/members/${userId}`, { notice: 'role' });
}

async function remove(visit: Visit) {
  const member = { accountId: visit.account.id, userId: visit.id() };
  const keepsTokens = visit.field(revokeField) === '';
  await visit.administer(admin => removeMember(admin, member, { keepsTokens }));
  return member.userId === visit.user.id ? '/admin?notice=left' : visit.path('/admin/members', { notice: 'removed' });
}

async function leave(visit: Visit) {
  const member = { accountId: visit.account.id, userId: visit.user.id };
  // Only owners and admins revoke API tokens.
  const keepsTokens = !isAdmin(visit.account) || visit.field(revokeField) === '';
  await visit.administer(admin => removeMember(admin, member, { keepsTokens }));
  return '/admin?notice=left';
}

async function requireMember(visit: Visit): Promise<MemberView> {
  const key = { accountId: visit.account.id, userId: visit.id() };
  const member = await visit.administer(admin => readMember(admin, key));
  if (!member) throw new AdministrationError('not_found', 'The user is not a member of the account');
  return member;
}

function presentMember(visit: Visit, member: MemberView) {
  return {
    name: shownName(member.name),
    email: shownAddress(member.email),
    role: presentRole(member.role),
    isBlocked: member.is_blocked,
    isYou: member.user_id === visit.user.id,
    since: showTime(new Date(member.created_at)),
    path: visit.path(`/admin/members/${member.user_id}`),
  };
}
