import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { readAccount } from '../../domain/accounts/list-accounts.ts';
import { cancelAccountDeletion, scheduleAccountDeletion } from '../../domain/erasure/schedule-account-deletion.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireOwnedAccount, requireSession, sessionOf } from '../shell/session.ts';
import { accountErasedFrom, type ShownTime, shownAddress, shownName } from '../shell/show.ts';
import { askForOwnPassword } from '../sign-in/own-password.ts';

interface QuestionData {
  name: string;
  slug: string;
  givenSlug: string;
  email: string;
  boardCount: number;
  memberCount: number;
  graceDays: number;
  erasedFrom: ShownTime | undefined;
  action: string;
  accountPath: string;
  problem?: string | undefined;
  formToken: string;
}

const questionPage = definePage<QuestionData>('admin/account/delete');

/**
 * The deletion of an account, which its owners schedule and call off. Whoever schedules it writes which account they mean,
 * and gives their password: it takes everything with it, and no backup of ours brings it back.
 */
export function serveAccountDeletion(app: FastifyInstance, server: ServerDependencies) {
  const { clock, config } = server;
  const onRequest = [requireSession, nameAccount];
  const askForPassword = askForOwnPassword(server);

  app.get('/admin/account/delete', { onRequest }, async (request, reply) => {
    const account = requireOwnedAccount(request);
    return showQuestion(request, reply, account, { givenSlug: '' });
  });

  app.post('/admin/account/delete', { onRequest }, async (request, reply) => {
    const account = requireOwnedAccount(request);
    const givenSlug = fieldOf(request.body, 'slug').trim();
    const refuse = (status: number, problem: string) =>
      showQuestion(request, reply, account, { givenSlug, problem }, status);
    if (givenSlug !== account.slug) return refuse(422, `Write ${account.slug} to say that you mean this account`);
    const asked = await askForPassword(request, reply);
    if ('problem' in asked) return refuse(asked.status, asked.problem);
    await administer(server, request, admin => scheduleAccountDeletion(admin, account.id));
    return reply.redirect(pathIn(request, account, '/admin/account'), 303);
  });

  app.post('/admin/account/keep', { onRequest }, async (request, reply) => {
    const account = requireOwnedAccount(request);
    await administer(server, request, admin => cancelAccountDeletion(admin, account.id));
    return reply.redirect(pathIn(request, account, '/admin/account', { notice: 'kept' }), 303);
  });

  async function showQuestion(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    words: { givenSlug: string; problem?: string },
    status = 200,
  ) {
    const view = await administer(server, request, admin => readAccount(admin, account.id));
    const accountPath = pathIn(request, account, '/admin/account');
    // Scheduled already: the page of the account says until when it can be called off.
    if (view.deletion_scheduled_at !== null) return reply.redirect(accountPath, 303);
    const data: QuestionData = {
      name: shownName(view.name),
      slug: view.slug,
      email: shownAddress(sessionOf(request).user.email),
      boardCount: view.board_count,
      memberCount: view.member_count,
      graceDays: config.ACCOUNT_DELETION_GRACE_DAYS,
      erasedFrom: accountErasedFrom(clock.now().toISOString(), config),
      action: pathIn(request, account, '/admin/account/delete'),
      accountPath,
      formToken: formTokenOf(request),
      ...words,
    };
    return sendPage(reply, questionPage(frameOf(request, account, 'Delete the account'), data), status);
  }
}
