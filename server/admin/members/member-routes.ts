import { AdministrationError } from '../../domain/administration.ts';
import { mayManage } from '../../domain/members/authority.ts';
import { removeMember, removePicture, setMemberRole } from '../../domain/members/change-members.ts';
import { listMembers, type MemberPlace, type MemberView, readMember } from '../../domain/members/list-members.ts';
import { cutRows } from '../../domain/pagination.ts';
import { picturePathOf } from '../../domain/pictures/pictures.ts';
import { mayBlock } from '../../domain/users/block-user.ts';
import { roles } from '../../entities/membership.ts';
import { optionsOf } from '../../pages/shell/choices.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { isAdmin } from '../../pages/shell/session.ts';
import { shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { presentRole, roleOf, roleOptions } from './present-role.ts';

/** The number of members on a page, so that the page loads quickly on a phone. */
const membersPerPage = 25;

const revokeField = 'revoke_tokens';

export const memberRoutes: Route[] = [
  { path: '/admin/members', show: showList },
  { path: '/admin/members/:id', show: showMember },
  { path: '/admin/members/:id/role', run: setRole, again: showMember },
  {
    path: '/admin/members/:id/remove',
    ask: async visit => ({
      heading: t('shell.questions.remove_html', { name: shownName((await requireMember(visit)).name) }),
      explanation: t('members.remove.explanation'),
      choice: { name: revokeField, label: t('members.remove.revoke_tokens') },
      button: t('members.remove.button'),
      back: { label: t('members.remove.keep'), href: visit.path(`/admin/members/${visit.id()}`) },
    }),
    run: remove,
  },
  {
    path: '/admin/members/:id/picture',
    ask: async visit => ({
      heading: t('members.picture.heading_html', { name: shownName((await requireMember(visit)).name) }),
      explanation: t('members.picture.explanation'),
      button: t('members.picture.button'),
      back: { label: t('members.picture.keep'), href: visit.path(`/admin/members/${visit.id()}`) },
    }),
    run: async visit => {
      const member = { accountId: visit.account.id, userId: visit.id() };
      await visit.administer(admin => removePicture(admin, member));
      return visit.path(`/admin/members/${member.userId}`, { notice: 'picture' });
    },
  },
];

export const leaveRoute: Route = {
  path: '/admin/members/leave',
  ask: visit => ({
    heading: t('members.leave.heading_html', { name: shownName(visit.account.name) }),
    explanation: t('members.leave.explanation'),
    choice: isAdmin(visit.account) ? { name: revokeField, label: t('members.leave.revoke_tokens') } : undefined,
    button: t('members.leave.button'),
    back: { label: t('members.leave.stay'), href: visit.path('/admin') },
  }),
  run: leave,
};

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
  const { rows, hasMore } = cutRows(found, membersPerPage);
  const last = hasMore ? rows.at(-1) : undefined;
  const data = {
    members: rows.map(member => presentMember(visit, member)),
    q,
    roles: optionsOf(
      [['', t('members.list.every_role')], ...roles.map(one => [one, presentRole(one).label] as const)],
      role,
    ),
    blocks: optionsOf(
      blockChoices.map(([value, key]) => [value, t(key)] as const),
      blocked,
    ),
    isFiltered: Object.keys(parameters).length > 0,
    // The filter form sends the account's slug in a hidden field. A user with only one account needs no slug.
    accountSlug: visit.user.accounts.length > 1 ? account.slug : undefined,
    ...visit.pageLinks('/admin/members', 'after', last && `${last.role}.${last.user_id}`, { kept: parameters }),
  };
  return visit.page('members/members', t('shell.labels.members'), data, {
    notices: { removed: 'members.notices.removed' },
  });
}

const blockChoices = [
  ['', 'members.list.blocked_or_not'],
  ['yes', 'shell.labels.blocked'],
  ['no', 'members.list.not_blocked'],
] as const;

/** The maximum length of a search text. Names have at most this length, and most e-mail addresses are shorter. */
const maxBeginning = 100;

/** Reads the filter and the position in the member list from the query. Ignores invalid parameters. */
function readFilter(visit: Visit) {
  const q = visit.parameter('q').trim().slice(0, maxBeginning);
  const role = roleOf(visit.parameter('role'));
  const blocked = ['yes', 'no'].find(value => value === visit.parameter('blocked'));
  const [, word = '', id = ''] = /^([a-z]+)\.([1-9]\d{0,14})$/.exec(visit.parameter('after')) ?? [];
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
    picture: await picturePathOf(visit.server.database, member.user_id),
    roles: mayManage(account.role, member.role) ? roleOptions(account.role, chosen) : undefined,
    removal: shown.isYou
      ? { label: t('members.leave.button'), href: visit.path('/admin/members/leave') }
      : { label: t('members.remove.link'), href: visit.path(`/admin/members/${member.user_id}/remove`) },
    blocking:
      shown.isYou || !mayBlock(account.role, member.role)
        ? undefined
        : {
            label: t(member.is_blocked ? 'members.member.unblock' : 'members.member.block'),
            href: visit.path(`/admin/blocks/${member.user_id}`),
          },
  };
  return visit.page('members/member', shown.name, data, {
    notices: { role: 'members.notices.role', picture: 'members.notices.picture' },
    values: { role: t(`shell.roles.${member.role}`) },
    problem,
  });
}

async function setRole(visit: Visit) {
  const { account } = visit;
  const userId = visit.id();
  const role = roleOf(visit.field('role'));
  if (!role) throw new AdministrationError('invalid', t('members.role.unknown'));
  await visit.administer(admin => setMemberRole(admin, { accountId: account.id, userId }, role));
  // Redirects a person who has just given up their own role of owner or admin. This person can no longer open the list
  // of members.
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
  // The API tokens of a member who leaves stay valid. Only a leaving owner or admin can choose to revoke their own
  // tokens.
  const keepsTokens = !isAdmin(visit.account) || visit.field(revokeField) === '';
  await visit.administer(admin => removeMember(admin, member, { keepsTokens }));
  return '/admin?notice=left';
}

async function requireMember(visit: Visit): Promise<MemberView> {
  const key = { accountId: visit.account.id, userId: visit.id() };
  const member = await visit.administer(admin => readMember(admin, key));
  if (!member) throw new AdministrationError('not_found', t('refusals.member.unknown'));
  return member;
}

function presentMember(visit: Visit, member: MemberView) {
  return {
    id: member.user_id,
    name: shownName(member.name),
    email: shownAddress(member.email),
    role: presentRole(member.role),
    isBlocked: member.is_blocked,
    isYou: member.user_id === visit.user.id,
    since: showTime(new Date(member.created_at)),
  };
}
