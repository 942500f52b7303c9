import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { createToken } from '../../domain/tokens/create-token.ts';
import { listTokenPage, readToken, type TokenListing } from '../../domain/tokens/list-tokens.ts';
import { revokeToken } from '../../domain/tokens/revoke-token.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import { idIn, newFormId, noticeIn, numberIn, problemOf, requireFirst } from '../shell/form.ts';
import { askFor, formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import {
  administer,
  hasAgentApi,
  nameAccount,
  pathIn,
  requireAdminAccount,
  requireSession,
  sessionOf,
} from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { presentToken, type ShownToken } from './present-token.ts';
import { emptyTokenForm, expiryOf, formOf, grantsOf, readTokenForm, type TokenForm } from './token-form.ts';

interface ListData {
  accountName: string;
  tokens: ShownToken[];
  first: Link | undefined;
  next: Link | undefined;
  createPath: string;
  /** Undefined: the plan has no Agent API. */
  form: TokenForm | undefined;
  planName: string;
  hasBoards: boolean;
  formToken: string;
  formId: string;
  notice?: string | undefined;
  problem?: string | undefined;
}

interface CreatedData {
  name: string;
  plaintext: string;
  curl: string;
  token: ShownToken;
  listPath: string;
}

const listPage = definePage<ListData>('admin/tokens/tokens');
const createdPage = definePage<CreatedData>('admin/tokens/token-created', { hasCopyButtons: true });
const renderFacts = loadTemplate<ShownToken>('admin/tokens/token-facts');

/** So many fit a page that is quick on a phone. */
const tokensPerPage = 25;

/** The tokens of an account, for its owners and admins (Token; Authentication, 11). */
export function serveTokens(app: FastifyInstance, server: ServerDependencies) {
  const { config } = server;
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/tokens', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    return showList(request, reply, account, { notice: noticeIn(request, { revoked: 'The token is revoked.' }) });
  });

  // The page with the plaintext answers the POST itself. To show it after a redirect, it would have to be kept somewhere
  // in between; this way it is in this answer, which nothing stores, and nowhere else.
  app.post('/admin/tokens', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const given = readTokenForm(request.body);
    try {
      const { plaintext, listing } = await administer(server, request, async admin => {
        await requireFirst(admin, request.body);
        const boards = await listBoardNames(admin, account.id);
        const { token, plaintext } = await createToken(
          admin,
          {
            accountId: account.id,
            issuerId: sessionOf(request).user.id,
            name: given.name,
            boards: grantsOf(given, boards),
            expiresAt: expiryOf(given),
          },
          config.PLANS_WITHOUT_AGENT_API,
        );
        return { plaintext, listing: await readToken(admin, account.id, token.id) };
      });
      return showCreated(request, reply, account, listing, plaintext);
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showList(request, reply, account, { given, problem }, status);
    }
  });

  app.get('/admin/tokens/:id/revoke', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const listing = await administer(server, request, admin => readToken(admin, account.id, idIn(request)));
    const token = presentToken(request, account, listing);
    const list = pathIn(request, account, '/admin/tokens');
    if (!token.revokePath) {
      throw new Refusal(409, 'It is revoked already', 'There is nothing left to do.', {
        label: 'To all tokens',
        href: list,
      });
    }
    return askFor(request, reply, account, {
      title: 'Revoke a token',
      verb: 'Revoke',
      name: token.name,
      explanation: 'Whatever uses it is answered 401 from then on. This cannot be undone; its votes stay counted.',
      details: renderFacts(token),
      action: token.revokePath,
      button: 'Revoke the token',
      isDangerous: true,
      back: { label: 'Keep it', href: list },
    });
  });

  app.post('/admin/tokens/:id/revoke', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    await administer(server, request, admin => revokeToken(admin, account.id, idIn(request)));
    return reply.redirect(pathIn(request, account, '/admin/tokens', { notice: 'revoked' }), 303);
  });

  async function showList(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { given, ...words }: { given?: ReturnType<typeof readTokenForm>; notice?: string | undefined; problem?: string },
    status = 200,
  ) {
    const page = numberIn(request, 'page') ?? 1;
    const { tokens, boards } = await administer(server, request, async admin => ({
      tokens: await listTokenPage(admin, account.id, { limit: tokensPerPage, offset: (page - 1) * tokensPerPage }),
      boards: await listBoardNames(admin, account.id),
    }));
    const pathOfPage = (number: number) => pathIn(request, account, '/admin/tokens', { page: String(number) });
    const data: ListData = {
      accountName: shownName(account.name),
      tokens: tokens.rows.map(token => presentToken(request, account, token)),
      first: page > 1 ? { label: 'Back to the first page', href: pathOfPage(1) } : undefined,
      next: tokens.hasMore ? { label: 'More tokens', href: pathOfPage(page + 1) } : undefined,
      createPath: pathIn(request, account, '/admin/tokens'),
      form: hasAgentApi(account, config) ? formOf(given ?? emptyTokenForm, boards) : undefined,
      planName: account.plan,
      hasBoards: boards.length > 0,
      formToken: formTokenOf(request),
      formId: newFormId(),
      ...words,
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Tokens'), data), status);
  }

  function showCreated(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    listing: TokenListing,
    plaintext: string,
  ) {
    const board = listing.boards[0]?.slug ?? '';
    const data: CreatedData = {
      name: shownName(listing.name),
      plaintext,
      curl: `curl -H 'Authorization: Bearer ${plaintext}' '${config.BASE_URL}/api/v1/ideas?board=${board}'`,
      token: presentToken(request, account, listing),
      listPath: pathIn(request, account, '/admin/tokens'),
    };
    return sendPage(reply, createdPage(frameOf(request, account, 'The new token'), data), 201);
  }
}
