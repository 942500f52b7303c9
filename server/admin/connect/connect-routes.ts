import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import type { ConsentRequest, Consents } from '../../oauth/consents.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { oneLine } from '../../text/plain-text.ts';
import { fieldOf, problemOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import {
  administer,
  findAccount,
  hasAgentApi,
  isAdmin,
  pathIn,
  requireAdminAccount,
  requireSession,
  sessionOf,
} from '../shell/session.ts';
import { shownHost, shownName } from '../shell/show.ts';
import { emptyTokenForm, formOf, grantsOf, readTokenForm } from '../tokens/token-form.ts';

const connectPage = definePage<object>('admin/connect/connect');

const path = '/admin/connect/:id';

/** Where owners and admins agree to it that a client of OAuth uses boards in their name (Authentication, 9 and 11). */
export function serveConnect(app: FastifyInstance, server: ServerDependencies, consents: Consents) {
  app.get(path, { onRequest: requireSession }, async (request, reply) => {
    const account = chooseAccount(request);
    return show(request, reply, await requireAsked(request, reply), account, {});
  });

  app.post(path, { onRequest: requireSession }, async (request, reply) => {
    const asked = await requireAsked(request, reply);
    const userId = sessionOf(request).user.id;
    if (fieldOf(request.body, 'decision') === 'refuse') {
      // Whoever may not agree may refuse all the same: the client waits for an answer.
      const accountId = findAccount(request)?.id ?? null;
      await administer(server, request, admin => consents.refuse(admin, asked, { accountId, userId }));
      return reply.redirect(asked.returnTo, 303);
    }
    const account = chooseAccount(request);
    const given = readTokenForm(request.body);
    try {
      await administer(server, request, async admin => {
        const boards = grantsOf(given, await listBoardNames(admin, account.id));
        await consents.give(admin, asked, { accountId: account.id, userId, boards, clientName: nameOf(asked) });
      });
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return show(request, reply, asked, account, { given, problem }, status);
    }
    return reply.redirect(asked.returnTo, 303);
  });

  async function requireAsked(request: FastifyRequest, reply: FastifyReply): Promise<ConsentRequest> {
    const asked = await consents.find(request, reply, fieldOf(request.params, 'id'));
    if (asked) return asked;
    throw new Refusal(
      404,
      'There is nothing to answer here',
      'The program waited for too long, was answered already, or asked in another browser. Begin again in the program.',
    );
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: ConsentRequest,
    account: AccountOfUser,
    { given, problem }: { given?: ReturnType<typeof readTokenForm>; problem?: string },
    status = 200,
  ) {
    if (!hasAgentApi(account, server.config)) {
      const explanation = `The plan ${account.plan} of the account ${account.name} does not allow the Agent API.`;
      throw new Refusal(403, 'Not with this plan', explanation);
    }
    const boards = await administer(server, request, admin => listBoardNames(admin, account.id));
    const here = path.replace(':id', asked.id);
    const data = {
      clientName: nameOf(asked),
      documentHost: asked.documentHost && shownHost(asked.documentHost),
      target: { ...asked.target, host: shownHost(asked.target.host) },
      accountName: shownName(account.name),
      otherAccounts: sessionOf(request)
        .user.accounts.filter(one => one.id !== account.id && isAdmin(one))
        .map(one => ({ name: shownName(one.name), href: pathIn(request, one, here) })),
      path: pathIn(request, account, here),
      form: formOf(given ?? emptyTokenForm, boards),
      formToken: formTokenOf(request),
      problem,
    };
    reply.formTarget = asked.formTarget;
    return sendPage(reply, connectPage(frameOf(request, account, 'Connect a program'), data), status);
  }
}

/** The account that the address names, else the first in which the user may connect anything. */
function chooseAccount(request: FastifyRequest): AccountOfUser {
  const isNamed = fieldOf(request.query, 'account') !== '';
  return (isNamed ? undefined : sessionOf(request).user.accounts.find(isAdmin)) ?? requireAdminAccount(request);
}

/** Under which the connection is found among the tokens. */
function nameOf({ clientName, target }: ConsentRequest): string {
  return shownName(oneLine(clientName ?? '') || target.host);
}
