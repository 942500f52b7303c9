import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { signedIn } from '../../pages/shell/area.ts';
import type { Frame, Link } from '../../pages/shell/page.ts';
import { isAdmin, isModerator, pathIn } from '../../pages/shell/session.ts';
import { shownName } from '../../pages/shell/show.ts';

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

/** Returns the frame of a signed-in user's page, with the navigation for the user's role. */
export function frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame {
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
    ...signedIn(request, account),
  };
}
