import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { signedIn } from '../../pages/shell/area.ts';
import type { Frame } from '../../pages/shell/page.ts';
import { isAdmin, isModerator, pathIn } from '../../pages/shell/session.ts';
import { shownName } from '../../pages/shell/show.ts';
import { t } from '../../text/catalogue.ts';

const ofModerators = [
  { key: 'shell.admin.queue', href: '/admin/queue' },
  { key: 'shell.labels.ideas', href: '/admin/ideas' },
] as const;

const ofAdmins = [
  { key: 'shell.labels.boards', href: '/admin/boards' },
  { key: 'shell.admin.tokens', href: '/admin/tokens' },
  { key: 'shell.labels.webhooks', href: '/admin/webhooks' },
  { key: 'shell.admin.chat', href: '/admin/chat' },
  { key: 'shell.labels.members', href: '/admin/members' },
  { key: 'account.title', href: '/admin/account' },
] as const;

/**
 * Returns the data that the layout of an admin page needs for a signed-in user, with the navigation for the user's
 * role.
 */
export function frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame {
  const path = request.url.split('?', 1)[0] ?? '';
  const link = ({ key, href }: (typeof ofModerators | typeof ofAdmins)[number]) => ({
    label: t(key),
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
    ...signedIn(request, account),
  };
}
