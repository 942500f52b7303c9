import type { FastifyRequest } from 'fastify';
import { type AccountOfUser, newestNotifications } from '../../domain/sign-in/read-session.ts';
import type { Frame, Link } from '../../pages/shell/page.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import { isAdmin, isModerator, pathIn } from './account-choice.ts';
import { sessionOf } from './browser-session.ts';
import { shownName } from './shown-name.ts';

interface Actions {
  name: string;
  profilePath: string;
  notificationsPath: string;
  /** Undefined: all is read. */
  unread: string | undefined;
  formToken: string;
}

const renderActions = loadTemplate<Actions>('admin/shell/session-actions');

const ofModerators: Link[] = [
  { label: 'Queue', href: '/admin/queue' },
  { label: 'Ideas', href: '/admin/ideas' },
];

const ofAdmins: Link[] = [
  { label: 'Boards', href: '/admin/boards' },
  { label: 'Tokens', href: '/admin/tokens' },
  { label: 'Webhooks', href: '/admin/webhooks' },
  { label: 'Chat', href: '/admin/chat' },
  { label: 'Members', href: '/admin/members' },
  { label: 'Account', href: '/admin/account' },
];

/** What stands around every page of somebody who is signed in: the account, where one can go, and the way out. */
export function frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame {
  const { user } = sessionOf(request);
  const path = request.url.split('?', 1)[0] ?? '';
  const link = ({ label, href }: Link) => ({
    label,
    href: pathIn(request, account, href),
    isCurrent: path === href || path.startsWith(`${href}/`),
  });
  return {
    title,
    site: { label: account ? shownName(account.name) : 'Idea-Board', href: pathIn(request, account, '/admin') },
    navigation: [
      ...(isModerator(account) ? ofModerators.map(link) : []),
      ...(isAdmin(account) ? ofAdmins.map(link) : []),
    ],
    actions: renderActions({
      name: shownName(user.name),
      profilePath: pathIn(request, account, '/admin/profile'),
      notificationsPath: pathIn(request, account, '/admin/profile/notifications'),
      unread: describeUnread(user.unread_count),
      formToken: formTokenOf(request),
    }),
  };
}

function describeUnread(count: number): string | undefined {
  if (count === 0) return undefined;
  return count < newestNotifications ? String(count) : `${newestNotifications}+`;
}

/** What every form of the session sends along. */
export function formTokenOf(request: FastifyRequest): string {
  return request.server.formTokenOf(sessionOf(request).tokenHash);
}
