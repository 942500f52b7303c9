import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { createToken, revokeToken } from '../../domain/tokens/change-tokens.ts';
import { listTokenPage, readToken, type TokenListing } from '../../domain/tokens/list-tokens.ts';
import { definePage } from '../../pages/shell/page.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import { newFormId, type Problem, requireFirst } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { hasAgentApi, requireAdminAccount } from '../shell/session.ts';
import { shownName, showTime } from '../shell/show.ts';
import { pageLinks, serveRoutes, type Visit } from '../shell/visit.ts';
import { emptyTokenForm, expiryOf, formOf, grantsOf, readTokenForm } from './token-form.ts';

const listPage = definePage<object>('admin/tokens/tokens');
const createdPage = definePage<object>('admin/tokens/token-created', { hasCopyButtons: true });
const renderFacts = loadTemplate<object>('admin/tokens/token-facts');

/** So many fit a page that is quick on a phone. */
const tokensPerPage = 25;

/** The tokens of an account, for its owners and admins (Token; Authentication, 11). */
export function serveTokens(app: FastifyInstance, server: ServerDependencies) {
  const { config } = server;

  serveRoutes(app, server, requireAdminAccount, [
    { path: '/admin/tokens', show: showList, run: create },
    { path: '/admin/tokens/:id/revoke', ask: askForRevocation, run: revoke },
  ]);

  async function showList(visit: Visit, problem?: Problem) {
    const { account } = visit;
    const page = visit.number('page') ?? 1;
    const { tokens, boards } = await visit.administer(async admin => ({
      tokens: await listTokenPage(admin, account.id, { limit: tokensPerPage, offset: (page - 1) * tokensPerPage }),
      boards: await listBoardNames(admin, account.id),
    }));
    const given = problem ? readTokenForm(visit.request.body) : emptyTokenForm;
    const data = {
      accountName: shownName(account.name),
      tokens: tokens.rows.map(token => presentToken(visit, token)),
      ...pageLinks(parameters => visit.path('/admin/tokens', { page: '1', ...parameters }), {
        first: page > 1 && 'Back to the first page',
        next: tokens.hasMore ? ['More tokens', { page: String(page + 1) }] : undefined,
      }),
      createPath: visit.path('/admin/tokens'),
      form: hasAgentApi(account, config) ? formOf(given, boards) : undefined,
      planName: account.plan,
      hasBoards: boards.length > 0,
      formId: newFormId(),
    };
    return visit.page(listPage, 'Tokens', data, { notices: { revoked: 'The token is revoked.' }, problem });
  }

  /**
   * Answers the POST with the page of the plaintext. A redirect would need the plaintext to be stored in between, and
   * nothing stores it.
   */
  async function create(visit: Visit) {
    const accountId = visit.account.id;
    const given = readTokenForm(visit.request.body);
    const { plaintext, listing } = await visit.administer(async admin => {
      await requireFirst(admin, visit.request.body);
      const boards = await listBoardNames(admin, accountId);
      const wanted = {
        accountId,
        issuerId: visit.user.id,
        name: given.name,
        boards: grantsOf(given, boards),
        expiresAt: expiryOf(given),
      };
      const { token, plaintext } = await createToken(admin, wanted, config.PLANS_WITHOUT_AGENT_API);
      return { plaintext, listing: await readToken(admin, accountId, token.id) };
    });
    const board = listing.boards[0]?.slug ?? '';
    const data = {
      name: shownName(listing.name),
      plaintext,
      curl: `curl -H 'Authorization: Bearer ${plaintext}' '${config.BASE_URL}/api/v1/ideas?board=${board}'`,
      token: presentToken(visit, listing),
      listPath: visit.path('/admin/tokens'),
    };
    return visit.page(createdPage, 'The new token', data, { status: 201 });
  }
}

async function askForRevocation(visit: Visit) {
  const listing = await visit.administer(admin => readToken(admin, visit.account.id, visit.id()));
  const token = presentToken(visit, listing);
  const list = visit.path('/admin/tokens');
  if (!token.revokePath) {
    const link = { label: 'To all tokens', href: list };
    throw new Refusal(409, 'It is revoked already', 'There is nothing left to do.', link);
  }
  return {
    title: 'Revoke a token',
    verb: 'Revoke',
    name: token.name,
    explanation: 'Whatever uses it is answered 401 from then on. This cannot be undone; its votes stay counted.',
    details: renderFacts(token),
    button: 'Revoke the token',
    isDangerous: true,
    back: { label: 'Keep it', href: list },
  };
}

async function revoke(visit: Visit) {
  await visit.administer(admin => revokeToken(admin, visit.account.id, visit.id()));
  return visit.path('/admin/tokens', { notice: 'revoked' });
}

const states = {
  active: { label: 'Active', chip: 'chip-completed' },
  expired: { label: 'Expired', chip: 'chip-archived' },
  revoked: { label: 'Revoked', chip: 'chip-declined' },
} satisfies Record<TokenListing['state'], object>;

function presentToken(visit: Visit, token: TokenListing) {
  const timeOf = (text: string | null) => (text === null ? undefined : showTime(new Date(text)));
  return {
    id: token.id,
    name: shownName(token.name),
    kind: token.kind === 'oauth' ? 'OAuth' : 'API',
    boards: token.boards,
    // The placeholder has no address.
    issuer: token.issuer ?? 'Deleted user',
    state: states[token.state],
    created: showTime(new Date(token.created_at)),
    lastUsed: timeOf(token.last_used_at),
    expires: timeOf(token.expires_at),
    revokePath: token.state === 'revoked' ? undefined : visit.path(`/admin/tokens/${token.id}/revoke`),
  };
}
