import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, AdministrationError } from '../../domain/administration.ts';
import { removeMember, setMemberRole } from '../../domain/members/change-members.ts';
import { listMembers, type MemberView, readMember } from '../../domain/members/list-members.ts';
import { mayManage } from '../../domain/members/may-manage.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { mayBlock } from '../../domain/users/block-user.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, idIn, noticeIn, problemOf } from '../shell/form.ts';
import { askFor, formTokenOf, frameOf } from '../shell/frame.ts';
import {
  administer,
  isAdmin,
  nameAccount,
  pathIn,
  requireAccount,
  requireAdminAccount,
  requireSession,
  sessionOf,
} from '../shell/session.ts';
import { type ShownTime, shownAddress, shownName, showTime } from '../shell/show.ts';
import { type FilterForm, placeAfter, readFilter } from './member-filter.ts';
import { choicesOf, presentRole, type RoleChoice, roleOf, type ShownRole } from './present-role.ts';

interface ShownMember {
  name: string;
  email: string;
  role: ShownRole;
  isBlocked: boolean;
  isYou: boolean;
  since: ShownTime;
  path: string;
}

interface ListData {
  accountName: string;
  members: ShownMember[];
  form: FilterForm;
  isFiltered: boolean;
  /** To be sent along with the filter, where the user has several accounts. */
  accountSlug: string | undefined;
  listPath: string;
  firstPage: Link | undefined;
  nextPage: Link | undefined;
  invitationsPath: string;
  blocksPath: string;
  leavePath: string;
  notice: string | undefined;
}

interface MemberData {
  member: ShownMember;
  /** Undefined where whoever looks may not change the member. */
  roles: RoleChoice[] | undefined;
  rolePath: string;
  removal: Link;
  /** Undefined where whoever looks may not do it. */
  blocking: Link | undefined;
  listPath: string;
  formToken: string;
  notice?: string | undefined;
  problem?: string | undefined;
}

const listPage = definePage<ListData>('admin/members/members');
const memberPage = definePage<MemberData>('admin/members/member');

/** So many fit a page that is quick on a phone. */
const membersPerPage = 25;

/** The members of an account, for its owners and admins. Everybody may leave. */
export function serveMemberPages(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/members', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const { filter, after, form, parameters, isEmpty } = readFilter(request);
    const found = await administer(server, request, admin =>
      listMembers(admin, account.id, { ...filter, after, limit: membersPerPage + 1 }),
    );
    const members = found.slice(0, membersPerPage);
    const last = found.length > membersPerPage ? members.at(-1) : undefined;
    const next = last && { ...parameters, after: placeAfter({ role: last.role, userId: last.user_id }) };
    const data: ListData = {
      accountName: shownName(account.name),
      members: members.map(member => present(request, account, member)),
      form,
      isFiltered: !isEmpty,
      accountSlug: sessionOf(request).user.accounts.length > 1 ? account.slug : undefined,
      listPath: pathIn(request, account, '/admin/members'),
      firstPage: after && { label: 'First page', href: pathIn(request, account, '/admin/members', parameters) },
      nextPage: next && { label: 'More members', href: pathIn(request, account, '/admin/members', next) },
      invitationsPath: pathIn(request, account, '/admin/members/invitations'),
      blocksPath: pathIn(request, account, '/admin/blocks'),
      leavePath: pathIn(request, account, '/admin/members/leave'),
      notice: noticeIn(request, { removed: 'They are no member of the account any more.' }),
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Members'), data));
  });

  app.get('/admin/members/:id', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const member = await administer(server, request, admin => requireMember(admin, account, idIn(request)));
    return showMember(request, reply, account, member, {
      notice: noticeIn(request, { role: `Their role is ${member.role} now.` }),
    });
  });

  app.post('/admin/members/:id/role', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const userId = idIn(request);
    const role = roleOf(fieldOf(request.body, 'role'));
    try {
      if (!role) throw new AdministrationError('invalid', 'Choose a role');
      await administer(server, request, admin => setMemberRole(admin, { accountId: account.id, userId }, role));
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      const member = await administer(server, request, admin => requireMember(admin, account, userId));
      return showMember(request, reply, account, member, { problem, chosen: fieldOf(request.body, 'role') }, status);
    }
    // Whoever has just made themself less than an admin has no page of members any more.
    const isOwn = userId === sessionOf(request).user.id && !isAdmin({ ...account, role });
    const path = isOwn ? '/admin' : `/admin/members/${userId}`;
    return reply.redirect(pathIn(request, account, path, { notice: 'role' }), 303);
  });

  app.get('/admin/members/:id/remove', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const member = await administer(server, request, admin => requireMember(admin, account, idIn(request)));
    return askFor(request, reply, account, {
      title: 'Remove a member',
      verb: 'Remove',
      name: shownName(member.name),
      explanation:
        'What they wrote stays, and their votes still count. Their invitations stop working, and programs that they connected by OAuth are disconnected. API tokens that you keep go on working, but can no longer moderate. An invitation brings them back.',
      choice: { name: revokeField, label: 'Revoke the API tokens that they issued' },
      action: pathIn(request, account, `/admin/members/${member.user_id}/remove`),
      button: 'Remove the member',
      isDangerous: true,
      back: { label: 'Keep them', href: pathIn(request, account, `/admin/members/${member.user_id}`) },
    });
  });

  app.post('/admin/members/:id/remove', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const userId = idIn(request);
    const keepsTokens = fieldOf(request.body, revokeField) === '';
    await administer(server, request, admin => removeMember(admin, { accountId: account.id, userId }, { keepsTokens }));
    if (userId === sessionOf(request).user.id) return reply.redirect('/admin?notice=left', 303);
    return reply.redirect(pathIn(request, account, '/admin/members', { notice: 'removed' }), 303);
  });

  app.get('/admin/members/leave', { onRequest }, async (request, reply) => {
    const account = requireAccount(request);
    return askFor(request, reply, account, {
      title: 'Leave the account',
      verb: 'Leave',
      name: shownName(account.name),
      explanation:
        'You can no longer open its boards and pages. What you wrote stays, and your votes still count. Programs that you connected by OAuth are disconnected. API tokens that stay go on working, but can no longer moderate. Only an invitation brings you back.',
      choice: isAdmin(account) ? { name: revokeField, label: 'Revoke the API tokens that you issued' } : undefined,
      action: pathIn(request, account, '/admin/members/leave'),
      button: 'Leave the account',
      isDangerous: true,
      back: { label: 'Stay', href: pathIn(request, account, '/admin') },
    });
  });

  app.post('/admin/members/leave', { onRequest }, async (request, reply) => {
    const account = requireAccount(request);
    const userId = sessionOf(request).user.id;
    // Owners and admins alone revoke tokens of the API.
    const keepsTokens = !isAdmin(account) || fieldOf(request.body, revokeField) === '';
    await administer(server, request, admin => removeMember(admin, { accountId: account.id, userId }, { keepsTokens }));
    return reply.redirect('/admin?notice=left', 303);
  });
}

const revokeField = 'revoke_tokens';

async function requireMember(admin: Administration, account: AccountOfUser, userId: number): Promise<MemberView> {
  const member = await readMember(admin, { accountId: account.id, userId });
  if (!member) throw new AdministrationError('not_found', 'The user is not a member of the account');
  return member;
}

function showMember(
  request: FastifyRequest,
  reply: FastifyReply,
  account: AccountOfUser,
  member: MemberView,
  { chosen, ...words }: { chosen?: string; notice?: string | undefined; problem?: string },
  status = 200,
) {
  const path = `/admin/members/${member.user_id}`;
  const shown = present(request, account, member);
  const data: MemberData = {
    member: shown,
    roles: mayManage(account.role, member.role) ? choicesOf(account.role, chosen ?? member.role) : undefined,
    rolePath: pathIn(request, account, `${path}/role`),
    removal: shown.isYou
      ? { label: 'Leave the account', href: pathIn(request, account, '/admin/members/leave') }
      : { label: 'Remove from the account', href: pathIn(request, account, `${path}/remove`) },
    blocking:
      shown.isYou || !mayBlock(account.role, member.role)
        ? undefined
        : {
            label: member.is_blocked ? 'Unblock' : 'Block',
            href: pathIn(request, account, `/admin/blocks/${member.user_id}`),
          },
    listPath: pathIn(request, account, '/admin/members'),
    formToken: formTokenOf(request),
    ...words,
  };
  return sendPage(reply, memberPage(frameOf(request, account, shown.name), data), status);
}

function present(request: FastifyRequest, account: AccountOfUser, member: MemberView): ShownMember {
  return {
    name: shownName(member.name),
    email: shownAddress(member.email),
    role: presentRole(member.role),
    isBlocked: member.is_blocked,
    isYou: member.user_id === sessionOf(request).user.id,
    since: showTime(new Date(member.created_at)),
    path: pathIn(request, account, `/admin/members/${member.user_id}`),
  };
}
