import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { type AccountOfUser, newestNotifications } from '../../domain/sign-in/session.ts';
import { definePage, type Frame, type Link, sendPage } from '../../pages/shell/page.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import type { Html } from '../../text/html.ts';
import { busyRefusal, refusalOf } from './refusal.ts';
import { accountAround, isAdmin, isModerator, pathIn, sessionOf } from './session.ts';
import { shownName } from './show.ts';

interface Actions {
  name: string;
  profilePath: string;
  notificationsPath: string;
  /** The number of unread notifications. */
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

/** The frame of a signed-in user's page: the account, the navigation of their role, and signing out. */
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

/** The form_token of every form of the session. */
export function formTokenOf(request: FastifyRequest): string {
  return request.server.formTokenOf(sessionOf(request).tokenHash);
}

/** A question before an operation that cannot be undone or that affects others. */
export interface Confirmation {
  title: string;
  /** The heading is the verb, the name and a question mark: `Revoke <name>?` */
  verb: string;
  name: string;
  /** What the operation does, in a sentence or two. */
  explanation: string;
  /** More about it: a template's output. */
  details?: Html;
  /** An optional part of the operation: a checkbox, ticked at first. */
  choice?: { name: string; label: string } | undefined;
  /** The form's address. */
  action: string;
  button: string;
  isDangerous?: boolean;
  back: Link;
}

export const confirmationPage = definePage<object>('admin/shell/confirmation');

const refusalPage = definePage<{ title: string; explanation: string; link: Link }>('admin/shell/refusal');

const busyRetrySeconds = 60;

/** Answers refusals with their pages. Signed-in users keep the frame of their pages on every error page. */
export function answerRefusals(app: FastifyInstance) {
  app.addHook('onRequest', async request => {
    if (request.browserSession) request.frameOfError = title => frameOf(request, accountAround(request), title);
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    const { title, status, link, message: explanation } = refusal;
    if (refusal === busyRefusal) reply.header('Retry-After', busyRetrySeconds);
    const page = refusalPage(request.frameOfError?.(title) ?? { title }, { title, explanation, link });
    return sendPage(reply, page, status);
  });
}
