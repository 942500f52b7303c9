import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { signedIn } from '../../pages/shell/area.ts';
import type { Frame } from '../../pages/shell/page.ts';
import { t } from '../../text/catalogue.ts';

const links = [
  { key: 'operator.accounts.title', href: '/operator/accounts' },
  { key: 'operator.users.title', href: '/operator/users' },
  { key: 'shell.labels.webhooks', href: '/operator/webhooks' },
  { key: 'operator.audit.title', href: '/operator/audit' },
] as const;

/** Returns the layout data of a page of the operator's panel. The pages belong to no account. */
export function frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame {
  const path = request.url.split('?', 1)[0] ?? '';
  return {
    title,
    site: { label: t('operator.panel'), href: '/operator' },
    navigation: [
      { label: t('operator.status.title'), href: '/operator', isCurrent: path === '/operator' },
      ...links.map(({ key, href }) => ({
        label: t(key),
        href,
        isCurrent: path === href || path.startsWith(`${href}/`),
      })),
    ],
    ...signedIn(request, account),
  };
}
