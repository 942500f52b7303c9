import { listBoardNames } from '../../domain/boards/list-boards.ts';
import { createToken, restrictToken, revokeToken } from '../../domain/tokens/change-tokens.ts';
import { listTokenPage, readToken, type TokenListing } from '../../domain/tokens/list-tokens.ts';
import { defaultOverlapHours, endOldSecret, maxOverlapHours, rotateToken } from '../../domain/tokens/rotate-token.ts';
import { newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { hasAgentApi } from '../../pages/shell/session.ts';
import { shownName, showStored, showTime } from '../../pages/shell/show.ts';
import { loadTemplate } from '../../pages/shell/template.ts';
import type { Question, Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { mcpServerOf, waysByOauth, waysByToken } from './agent-clients.ts';
import {
  emptyTokenForm,
  expiryOf,
  formOf,
  grantsOf,
  lastDayOf,
  readRestrictions,
  readTokenForm,
  restrictionFields,
  restrictionsOf,
  storedRestrictions,
} from './token-form.ts';

const renderFacts = loadTemplate<object>('admin/tokens/token-facts');

/** The number of tokens on a page, so that the page loads quickly on a phone. */
const tokensPerPage = 25;

/** The pages for the API tokens of an account (specification: Token; Authentication, 11). */
export const tokenRoutes: Route[] = [
  { path: '/admin/tokens', show: showList, run: create },
  { path: '/admin/tokens/:id', show: showToken, run: saveRestrictions },
  { path: '/admin/tokens/:id/rotate', show: showRotation, run: rotate },
  {
    path: '/admin/tokens/:id/end-old-secret',
    ask: async visit => {
      const token = await read(visit);
      return {
        heading: t('tokens.old_secret.question_html', { name: token.name }),
        explanation: t('tokens.old_secret.explanation'),
        details: renderFacts(token),
        button: t('tokens.old_secret.button'),
        back: { label: t('tokens.old_secret.keep'), href: token.path },
      };
    },
    run: async visit => {
      await visit.administer(admin => endOldSecret(admin, visit.account.id, visit.id()));
      return visit.path(`/admin/tokens/${visit.id()}`, { notice: 'old_secret_ended' });
    },
  },
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
    restrictions: restrictionFields(given.restrictions, visit.server.config),
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
 * the token's hash.
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
      expiresAt: expiryOf(given.expiresOn),
      restrictions: restrictionsOf(given.restrictions, config),
    };
    const { token, plaintext } = await createToken(admin, wanted, config.PLANS_WITHOUT_AGENT_API);
    return { plaintext, listing: await readToken(admin, accountId, token.id) };
  });
  return showPlaintext(visit, listing, plaintext, {
    title: t('tokens.created.title'),
    shownOnce: t('tokens.created.shown_once'),
    status: 201,
  });
}

/** Shows the plaintext of a token in the answer to the POST. No later page shows the plaintext. */
function showPlaintext(
  visit: Visit,
  listing: TokenListing,
  plaintext: string,
  { status = 200, ...texts }: { title: string; shownOnce: string; isRotated?: boolean; status?: number },
) {
  const { config } = visit.server;
  const board = listing.boards[0]?.slug ?? '';
  const readsOnly = listing.boards.every(({ level }) => level === 'read');
  const data = {
    ...texts,
    name: shownName(listing.name),
    plaintext,
    curl: `curl -H 'Authorization: Bearer ${plaintext}' '${config.BASE_URL}/api/v1/ideas?board=${board}'`,
    agent: {
      all: waysByToken(mcpServerOf(config, false), plaintext),
      // Shows no read-only URL for a token that may only read. Such a token gets only tools that read, even at the
      // usual URL.
      readOnly: readsOnly ? undefined : waysByToken(mcpServerOf(config, true), plaintext),
    },
    token: presentToken(visit, listing),
  };
  return visit.page('tokens/token-created', texts.title, data, { status });
}

async function read(visit: Visit) {
  return presentToken(visit, await visit.administer(admin => readToken(admin, visit.account.id, visit.id())));
}

async function showToken(visit: Visit, problem?: Problem) {
  const listing = await visit.administer(admin => readToken(admin, visit.account.id, visit.id()));
  const given = problem ? readRestrictions(visit.request.body) : storedRestrictions(listing);
  const token = presentToken(visit, listing);
  const data = { token, restrictions: restrictionFields(given, visit.server.config) };
  const notices = { saved: 'tokens.notices.saved', old_secret_ended: 'tokens.notices.old_secret_ended' } as const;
  return visit.page('tokens/token', token.name, data, { notices, problem });
}

async function saveRestrictions(visit: Visit) {
  const restrictions = restrictionsOf(readRestrictions(visit.request.body), visit.server.config);
  await visit.administer(admin => restrictToken(admin, visit.account.id, visit.id(), restrictions));
  return visit.path(`/admin/tokens/${visit.id()}`, { notice: 'saved' });
}

async function showRotation(visit: Visit, problem?: Problem) {
  const listing = await visit.administer(admin => readToken(admin, visit.account.id, visit.id()));
  const token = presentToken(visit, listing);
  if (!token.rotatePath) {
    const link = { label: t('tokens.old_secret.open'), href: token.path };
    const title = listing.kind === 'oauth' ? t('refusals.token.oauth_rotation') : t('refusals.token.revoked');
    throw new Refusal(409, title, t('tokens.revoke.nothing_to_do'), link);
  }
  const data = {
    token,
    hours: problem ? visit.field('overlap_hours') : String(defaultOverlapHours),
    maxHours: maxOverlapHours,
    expiresOn: problem ? visit.field('expires_on') : lastDayOf(listing.expires_at),
    formId: newFormId(),
  };
  return visit.page('tokens/rotate-token', t('tokens.rotation.title'), data, { problem });
}

async function rotate(visit: Visit) {
  const [accountId, id] = [visit.account.id, visit.id()];
  const hours = visit.field('overlap_hours');
  const expiresOn = visit.field('expires_on');
  const way =
    visit.field('replaces_newest') === ''
      ? { overlapHours: /^\d{1,15}$/.test(hours) ? Number(hours) : -1 }
      : ({ replacesNewest: true } as const);
  const { plaintext, listing } = await visit.administer(async admin => {
    await requireFirst(admin, visit.request.body);
    // If the person did not change the expiry day, keeps the exact expiry time, because the token may expire in the
    // middle of that day.
    const isKept = expiresOn === lastDayOf((await readToken(admin, accountId, id)).expires_at);
    const expiry = isKept ? {} : { expiresAt: expiryOf(expiresOn) };
    const plaintext = await rotateToken(admin, accountId, id, { ...way, ...expiry });
    return { plaintext, listing: await readToken(admin, accountId, id) };
  });
  return showPlaintext(visit, listing, plaintext, {
    title: t('tokens.rotation.created'),
    shownOnce: t('tokens.rotation.shown_once'),
    isRotated: true,
  });
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
  const token = await read(visit);
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
  const path = (rest = '') => visit.path(`/admin/tokens/${token.id}${rest}`);
  const isRevoked = token.state === 'revoked';
  return {
    path: path(),
    name: shownName(token.name),
    kind: token.kind === 'oauth' ? 'OAuth' : 'API',
    boards: token.boards,
    capabilities: token.capabilities.map(one => t(`tokens.capabilities.${one}`)),
    // The issuer is null if the user who issued the token was erased. A text then takes the place of the issuer's
    // e-mail address.
    issuer: token.issuer ?? t('tokens.facts.deleted_user'),
    state: { label: t(`tokens.states.${token.state}`), chip: chips[token.state] },
    created: showTime(new Date(token.created_at)),
    lastUsed: showStored(token.last_used_at),
    lastNetwork: token.last_used_network,
    lastClient: token.last_used_client,
    expires: showStored(token.expires_at),
    oldSecretUntil: isRevoked ? undefined : showStored(token.old_secret_expires_at),
    limits: [
      ...(token.read_limit === null ? [] : [t('tokens.facts.reads', { limit: token.read_limit })]),
      ...(token.write_limit === null ? [] : [t('tokens.facts.writes', { limit: token.write_limit })]),
    ],
    networks: token.allowed_networks,
    rotatePath: isRevoked || token.kind === 'oauth' ? undefined : path('/rotate'),
    endPath: isRevoked || token.old_secret_expires_at === null ? undefined : path('/end-old-secret'),
    revokePath: isRevoked ? undefined : path('/revoke'),
  };
}
