import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { signedIn } from '../../pages/shell/area.ts';
import type { Frame, Link } from '../../pages/shell/page.ts';

const links: Link[] = [
  { label: 'Accounts', href: '/operator/accounts' },
  { label: 'Users', href: '/operator/users' },
  { label: 'Webhooks', href: '/operator/webhooks' },
  { label: 'Audit log', href: '/operator/audit' },
];

/** Returns the frame of a page of the operator's panel. The pages belong to no account. */
export function frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame {
  const path = request.url.split('?', 1)[0] ?? '';
  return {
    title,
    site: { label: "Operator's panel", href: '/operator' },
    navigation: [
      { label: 'Status', href: '/operator', isCurrent: path === '/operator' },
      ...links.map(link => ({ ...link, isCurrent: path === link.href || path.startsWith(`${link.href}/`) })),
    ],
    ...signedIn(request, account),
  };
}
