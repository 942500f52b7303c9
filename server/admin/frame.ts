import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../domain/sign-in/read-session.ts';
import type { Frame } from '../pages/page.ts';
import { loadTemplate } from '../pages/template.ts';
import { isAdmin, pathIn } from './account-choice.ts';
import { sessionOf } from './browser-session.ts';
import { shownName } from './shown-name.ts';

const renderActions = loadTemplate<{ name: string; formToken: string }>('admin/session-actions');

/** What stands around every page of somebody who is signed in: the account, where one can go, and the way out. */
export function frameOf(request: FastifyRequest, account: AccountOfUser | undefined, title: string): Frame {
  const { user } = sessionOf(request);
  const path = request.url.split('?', 1)[0] ?? '';
  const link = (label: string, to: string, isCurrent: boolean) => ({
    label,
    href: pathIn(request, account, to),
    isCurrent,
  });
  return {
    title,
    site: { label: account ? shownName(account.name) : 'Idea-Board', href: pathIn(request, account, '/admin') },
    navigation: [
      link('Home', '/admin', path === '/admin'),
      ...(isAdmin(account) ? [link('Tokens', '/admin/tokens', path.startsWith('/admin/tokens'))] : []),
    ],
    actions: renderActions({ name: shownName(user.name), formToken: formTokenOf(request) }),
  };
}

/** What every form of the session sends along. */
export function formTokenOf(request: FastifyRequest): string {
  return request.server.formTokenOf(sessionOf(request).tokenHash);
}
