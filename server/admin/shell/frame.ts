import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { type AccountOfUser, newestNotifications } from '../../domain/sign-in/session.ts';
import { type Frame, type Link, sendPage } from '../../pages/shell/page.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import { pageOf } from './pages.ts';
import { busyRefusal, refusalOf } from './refusal.ts';
import { accountAround, isAdmin, isModerator, pathIn, sessionOf } from './session.ts';
import { shownName } from './show.ts';

const renderActions = loadTemplate<object>('admin/shell/session-actions');

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
  const { user, tokenHash } = sessionOf(request);
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
    }),
    formToken: request.server.formTokenOf(tokenHash),
  };
}

function describeUnread(count: number): string | undefined {
  if (count === 0) return undefined;
  return count < newestNotifications ? String(count) : `${newestNotifications}+`;
}

const busyRetrySeconds = 60;

/** Answers refused requests to the admin area with error pages. Signed-in users also get the usual navigation. */
export function answerRefusals(app: FastifyInstance) {
  app.addHook('onRequest', async request => {
    if (request.browserSession) request.frameOfError = title => frameOf(request, accountAround(request), title);
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    const { title, status, link, message: explanation } = refusal;
    if (refusal === busyRefusal) reply.header('Retry-After', busyRetrySeconds);
    const page = pageOf('shell/refusal')(request.frameOfError?.(title) ?? { title }, { title, explanation, link });
    return sendPage(reply, page, status);
  });
}
