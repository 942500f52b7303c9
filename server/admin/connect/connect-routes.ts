import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import type { ConsentRequest, Consents } from '../../oauth/consents.ts';
import { fieldOf, type Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { pathToRequiredFactor } from '../../pages/shell/second-factor.ts';
import {
  accountAround,
  findAccount,
  hasAgentApi,
  isAdmin,
  pathIn,
  requireAdminAccount,
  requireSession,
  sessionOf,
} from '../../pages/shell/session.ts';
import { shownHost, shownName } from '../../pages/shell/show.ts';
import { serveRoutes, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { oneLine } from '../../text/plain-text.ts';
import { emptyTokenForm, formOf, grantsOf, readTokenForm } from '../tokens/token-form.ts';

const path = '/admin/connect/:id';

/**
 * Serves the consent page, where an owner or admin allows an OAuth client to use boards in this person's name
 * (specification: Authentication, 9 and 11).
 */
export function serveConnect(app: FastifyInstance, server: ServerDependencies, consents: Consents) {
  serveRoutes(app, server, accountAround, [{ path, show, run: answer }], [requireSession]);

  async function answer(visit: Visit<AccountOfUser | undefined>) {
    const { request, user } = visit;
    const asked = await requireAsked(visit);
    if (visit.field('decision') === 'refuse') {
      // Every user may refuse the OAuth request, even a user who may not allow it, because the OAuth client waits for
      // an answer.
      const accountId = findAccount(request)?.id ?? null;
      await visit.administer(admin => consents.refuse(admin, asked, { accountId, userId: user.id }));
    } else {
      const account = chooseAccount(request);
      const detour = pathToRequiredFactor(request, account);
      if (detour !== undefined) return detour;
      await visit.administer(async admin => {
        const boards = grantsOf(readTokenForm(request.body), await listBoardNames(admin, account.id));
        const clientName = nameOf(asked);
        await consents.give(admin, asked, { accountId: account.id, userId: user.id, boards, clientName });
      });
    }
    return asked.returnTo;
  }

  async function requireAsked({ request, reply }: Visit<AccountOfUser | undefined>): Promise<ConsentRequest> {
    const asked = await consents.find(request, reply, fieldOf(request.params, 'id'));
    if (asked) return asked;
    throw new Refusal(404, t('tokens.connect.closed'), t('tokens.connect.closed_explanation'));
  }

  async function show(around: Visit<AccountOfUser | undefined>, problem?: Problem) {
    const { request, reply } = around;
    const account = chooseAccount(request);
    const detour = pathToRequiredFactor(request, account);
    if (detour !== undefined) return detour;
    const visit = new Visit(server, request, reply, account);
    const asked = await requireAsked(visit);
    if (!hasAgentApi(account, server.config)) {
      const { plan, name } = account;
      const explanation = t('tokens.connect.not_in_plan_explanation', { plan, account: name });
      throw new Refusal(403, t('tokens.connect.not_in_plan'), explanation);
    }
    const boards = await visit.administer(admin => listBoardNames(admin, account.id));
    const here = path.replace(':id', asked.id);
    const data = {
      clientName: nameOf(asked),
      documentHost: asked.documentHost && shownHost(asked.documentHost),
      target: { ...asked.target, host: shownHost(asked.target.host) },
      otherAccounts: visit.user.accounts
        .filter(one => one.id !== account.id && isAdmin(one))
        .map(one => ({ name: shownName(one.name), href: pathIn(request, one, here) })),
      here,
      form: formOf(problem ? readTokenForm(request.body) : emptyTokenForm, boards),
    };
    reply.formTarget = asked.formTarget;
    return visit.page('connect/connect', t('tokens.connect.title'), data, { problem });
  }
}

/**
 * Returns the account that the query names. Otherwise returns the first account where the user is an owner or admin.
 */
function chooseAccount(request: FastifyRequest): AccountOfUser {
  const isNamed = fieldOf(request.query, 'account') !== '';
  return (isNamed ? undefined : sessionOf(request).user.accounts.find(isAdmin)) ?? requireAdminAccount(request);
}

/** Returns the name of the OAuth client, or the target of the client's redirect if the client has no name. */
function nameOf({ clientName, target }: ConsentRequest): string {
  return shownName(oneLine(clientName ?? '') || target.host);
}
