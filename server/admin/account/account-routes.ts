import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { requireAccountById } from '../../domain/accounts/find-account.ts';
import { readAccount } from '../../domain/accounts/list-accounts.ts';
import { updateAccount } from '../../domain/accounts/update-account.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, noticeIn, problemOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import {
  administer,
  hasAgentApi,
  isOwner,
  nameAccount,
  pathIn,
  requireAdminAccount,
  requireOwnedAccount,
  requireSession,
} from '../shell/session.ts';
import { accountErasedFrom, type ShownTime, shownAddress, shownName, showTime } from '../shell/show.ts';
import { serveAccountDeletion } from './deletion-routes.ts';

interface AccountData {
  name: string;
  slug: string;
  plan: string;
  hasAgentApi: boolean;
  owners: string[];
  /** How many owners are left out of the list. */
  moreOwners: number;
  boards: { count: number; href: string };
  members: { count: number; href: string };
  created: ShownTime;
  erasedFrom?: ShownTime | undefined;
  isOwner: boolean;
  form: { name: string; slug: string };
  paths: { save: string; keep: string; delete: string };
  notice?: string | undefined;
  problem?: string | undefined;
  formToken: string;
}

const accountPage = definePage<AccountData>('admin/account/account');

const notices = {
  saved: 'It is saved.',
  kept: 'The account stays: nothing of it is erased.',
};

/** So many owners fit a line or two. */
const maxOwners = 5;

/** An account, for its owners and admins to see, and for its owners to change. */
export function serveAccount(app: FastifyInstance, server: ServerDependencies) {
  const { config } = server;
  const onRequest = [requireSession, nameAccount];
  serveAccountDeletion(app, server);

  app.get('/admin/account', { onRequest }, async (request, reply) =>
    showAccount(request, reply, requireAdminAccount(request), { notice: noticeIn(request, notices) }),
  );

  app.post('/admin/account', { onRequest }, async (request, reply) => {
    const account = requireOwnedAccount(request);
    const given = { name: fieldOf(request.body, 'name'), slug: fieldOf(request.body, 'slug').trim() };
    try {
      await administer(server, request, async admin =>
        updateAccount(admin, await requireAccountById(admin, account.id), given),
      );
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showAccount(request, reply, account, { given, problem }, status);
    }
    const changed = { ...account, slug: given.slug };
    return reply.redirect(pathIn(request, changed, '/admin/account', { notice: 'saved' }), 303);
  });

  async function showAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { given, ...words }: { given?: AccountData['form']; notice?: string | undefined; problem?: string },
    status = 200,
  ) {
    const view = await administer(server, request, admin => readAccount(admin, account.id));
    const path = (to: string) => pathIn(request, account, to);
    const data: AccountData = {
      name: shownName(view.name),
      slug: view.slug,
      plan: view.plan,
      hasAgentApi: hasAgentApi(view, config),
      owners: view.owners.slice(0, maxOwners).map(shownAddress),
      moreOwners: Math.max(0, view.owners.length - maxOwners),
      boards: { count: view.board_count, href: path('/admin/boards') },
      members: { count: view.member_count, href: path('/admin/members') },
      created: showTime(new Date(view.created_at)),
      erasedFrom: accountErasedFrom(view.deletion_scheduled_at, config),
      isOwner: isOwner(account),
      form: given ?? { name: view.name, slug: view.slug },
      paths: { save: path('/admin/account'), keep: path('/admin/account/keep'), delete: path('/admin/account/delete') },
      formToken: formTokenOf(request),
      ...words,
    };
    return sendPage(reply, accountPage(frameOf(request, account, 'Account'), data), status);
  }
}
