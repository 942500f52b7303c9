import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { createToken, revokeToken } from '../../domain/tokens/change-tokens.ts';
import { listTokenPage, readToken, type TokenListing } from '../../domain/tokens/list-tokens.ts';
import { newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { hasAgentApi } from '../../pages/shell/session.ts';
import { shownName, showStored, showTime } from '../../pages/shell/show.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { mcpServerOf, waysByOauth, waysByToken } from './agent-clients.ts';
import { emptyTokenForm, expiryOf, formOf, grantsOf, readTokenForm } from './token-form.ts';

const renderFacts = loadTemplate<object>('admin/tokens/token-facts');

/** The number of tokens on a page, so that the page loads quickly on a phone. */
const tokensPerPage = 25;

/** The pages for the API tokens of an account (Token; Authentication, 11). */
export const tokenRoutes: Route[] = [
  { path: '/admin/tokens', show: showList, run: create },
  {
    path: '/admin/tokens/:id/revoke',
    ask: askForRevocation,
    run: async visit => {
      await visit.administer(admin => revokeToken(admin, visit.account.id, visit.id()));
      return visit.path('/admin/tokens', { notice: 'revoked' });
    },
  },
];

async function showList(visit: Visit, problem?: Problem) {
  const { account } = visit;
  const page = visit.number('page') ?? 1;
  const { tokens, boards } = await visit.administer(async admin => ({
    tokens: await listTokenPage(admin, account.id, { limit: tokensPerPage, offset: (page - 1) * tokensPerPage }),
    boards: await listBoardNames(admin, account.id),
  }));
  const given = problem ? readTokenForm(visit.request.body) : emptyTokenForm;
  const hasForm = hasAgentApi(account, visit.server.config);
  const data = {
    tokens: tokens.rows.map(token => presentToken(visit, token)),
    ...visit.pageLinks('/admin/tokens', 'page', tokens.hasMore && page + 1),
    form: hasForm ? formOf(given, boards) : undefined,
    agent: hasForm && boards.length > 0 ? presentAgent(visit) : undefined,
    planName: account.plan,
    formId: newFormId(),
  };
  return visit.page('tokens/tokens', t('shell.admin.tokens'), data, {
    notices: { revoked: 'tokens.notices.revoked' },
    problem,
  });
}

/**
 * Shows the new token in the answer to the POST. A redirect could not show the token, because the database stores only
 * its hash.
 */
async function create(visit: Visit) {
  const { config } = visit.server;
  const accountId = visit.account.id;
  const given = readTokenForm(visit.request.body);
  const { plaintext, listing } = await visit.administer(async admin => {
    await requireFirst(admin, visit.request.body);
    const boards = grantsOf(given, await listBoardNames(admin, accountId));
    const wanted = {
      accountId,
      issuerId: visit.user.id,
      name: given.name,
      boards,
      capabilities: given.capabilities,
      expiresAt: expiryOf(given),
    };
    const { token, plaintext } = await createToken(admin, wanted, config.PLANS_WITHOUT_AGENT_API);
    return { plaintext, listing: await readToken(admin, accountId, token.id) };
  });
  const board = listing.boards[0]?.slug ?? '';
  const readsOnly = listing.boards.every(({ level }) => level === 'read');
  const data = {
    name: shownName(listing.name),
    plaintext,
    curl: `curl -H 'Authorization: Bearer ${plaintext}' '${config.BASE_URL}/api/v1/ideas?board=${board}'`,
    agent: {
      all: waysByToken(mcpServerOf(config, false), plaintext),
      // Shows no read-only address for a token that may only read, because such a token gets no other tools at the
      // usual address.
      readOnly: readsOnly ? undefined : waysByToken(mcpServerOf(config, true), plaintext),
    },
    token: presentToken(visit, listing),
  };
  return visit.page('tokens/token-created', t('tokens.created.title'), data, { status: 201 });
}

function presentAgent(visit: Visit) {
  const isReadOnly = visit.parameter('tools') === 'read';
  const server = mcpServerOf(visit.server.config, isReadOnly);
  const here = (parameters?: Record<string, string>) => `${visit.path('/admin/tokens', parameters)}#connect-agent`;
  return {
    ...waysByOauth(server),
    name: server.name,
    isReadOnly,
    choices: [
      { label: t('tokens.agent.all_tools'), href: here(), isCurrent: !isReadOnly },
      { label: t('tokens.agent.only_reading_tools'), href: here({ tools: 'read' }), isCurrent: isReadOnly },
    ],
  };
}

async function askForRevocation(visit: Visit): Promise<Question> {
  const listing = await visit.administer(admin => readToken(admin, visit.account.id, visit.id()));
  const token = presentToken(visit, listing);
  const list = visit.path('/admin/tokens');
  if (!token.revokePath) {
    throw new Refusal(409, t('tokens.revoke.already_revoked'), t('tokens.revoke.nothing_to_do'), {
      label: t('tokens.list.all'),
      href: list,
    });
  }
  return {
    heading: t('tokens.revoke.heading_html', { name: token.name }),
    explanation: t('tokens.revoke.explanation'),
    details: renderFacts(token),
    button: t('tokens.revoke.button'),
    back: { label: t('tokens.revoke.keep'), href: list },
  };
}

const chips: Record<TokenListing['state'], string> = {
  active: 'chip-completed',
  expired: 'chip-archived',
  revoked: 'chip-declined',
};

function presentToken(visit: Visit, token: TokenListing) {
  return {
    name: shownName(token.name),
    kind: token.kind === 'oauth' ? 'OAuth' : 'API',
    boards: token.boards,
    capabilities: token.capabilities.map(one => t(`tokens.capabilities.${one}`)),
    // Shows no e-mail address for the placeholder of deleted users, because the placeholder has none.
    issuer: token.issuer ?? t('tokens.facts.deleted_user'),
    state: { label: t(`tokens.states.${token.state}`), chip: chips[token.state] },
    created: showTime(new Date(token.created_at)),
    lastUsed: showStored(token.last_used_at),
    expires: showStored(token.expires_at),
    revokePath: token.state === 'revoked' ? undefined : visit.path(`/admin/tokens/${token.id}/revoke`),
  };
}
