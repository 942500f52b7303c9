import { readAccountOverview } from '../../domain/accounts/find-account.ts';
import type { Administration } from '../../domain/administration.ts';
import { listBoardOverviews } from '../../domain/boards/list-boards.ts';
import { listRequiredProviders } from '../../domain/identities/list-identities.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { isAdmin, isModerator, pathIn } from '../../pages/shell/session.ts';
import { showCount, showErasure, shownAddress, shownName } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { providerPath } from '../../pages/sign-in/provider-paths.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';

const notices = textKeysIn('home.notices');

/** The maximum number of boards that a section of the home page lists. A link leads to the other boards. */
const maxBoards = 8;

/** The first page after sign-in. It shows the account's pending work, the signed-in user, and links to other pages. */
export const homeRoute: Route<AccountOfUser | undefined> = { path: '/admin', show: showHome };

async function showHome(visit: Visit<AccountOfUser | undefined>) {
  const { user, account, request } = visit;
  const data = {
    userName: shownName(user.name),
    email: shownAddress(user.email),
    isOwn: user.only_account_id === null,
    account: account && (await visit.administer(admin => readAccountAtHome(admin, visit, account))),
    requiredProviders: user.only_account_id === null ? await listRequired(visit) : [],
    otherAccounts: user.accounts
      .filter(one => one !== account)
      .map(one => ({
        name: shownName(one.name),
        role: t(`shell.roles.${one.role}`),
        href: pathIn(request, one, '/admin'),
      })),
    erasedFrom: showErasure(user.deletion_requested_at, visit.server.config.USER_DELETION_GRACE_HOURS),
  };
  return visit.page('home/home', t('home.title'), data, { notices });
}

/**
 * Lists the user's accounts that require members to sign in with a provider, and these providers. The home page links
 * to the providers, so that the user can also reach these accounts.
 */
async function listRequired({ server, user }: Visit<AccountOfUser | undefined>) {
  const providers = await listRequiredProviders(server.database, user.id);
  return providers.map(({ key, name, account }) => ({
    account: shownName(account),
    providers: [{ name: shownName(name), action: providerPath(key) }],
  }));
}

/**
 * Reads the home page's data for the user's role. Moderators see the boards with pending ideas. Admins also see all
 * boards, and problems with webhooks and chat channels. Other members see the public boards.
 */
async function readAccountAtHome(
  admin: Administration,
  visit: Visit<AccountOfUser | undefined>,
  account: AccountOfUser,
) {
  const list = (choice: { hasPending?: boolean; isPublic?: boolean }) =>
    listBoardOverviews(admin, account.id, { ...choice, limit: maxBoards + 1 });
  const { role, plan } = account;
  const atHome = { name: shownName(account.name), role, plan };
  if (!isModerator(account)) {
    const boards = (await list({ isPublic: true })).slice(0, maxBoards);
    return {
      ...atHome,
      reading: { boards: boards.map(({ name, slug }) => ({ name: shownName(name), href: `/b/${slug}` })) },
    };
  }
  const waiting = await list({ hasPending: true });
  const moderation = {
    boards: waiting.slice(0, maxBoards).map(({ name, slug, pending_count: count }) => ({
      name: shownName(name),
      href: visit.path('/admin/queue', { board: slug }),
      note: showCount('shell.counts.ideas', count),
    })),
    hasMore: waiting.length > maxBoards,
  };
  if (!isAdmin(account)) return { ...atHome, moderation };
  const boards = await list({});
  const overview = await readAccountOverview(admin, account.id);
  const { failing_webhooks: failing, disabled_webhooks: disabled, disabled_channels: channels } = overview;
  const troubles = [
    { count: failing, key: 'home.troubles.failing_webhooks', path: '/admin/webhooks' },
    { count: disabled, key: 'home.troubles.disabled_webhooks', path: '/admin/webhooks' },
    { count: channels, key: 'home.troubles.disabled_channels', path: '/admin/chat' },
  ] as const;
  const administration = {
    boards: boards.slice(0, maxBoards).map(board => ({
      name: shownName(board.name),
      href: visit.path(`/admin/boards/${board.slug}/settings`),
      note: board.is_frozen ? t('home.boards.frozen') : undefined,
    })),
    hasMore: boards.length > maxBoards,
    troubles: troubles
      .filter(({ count }) => count > 0)
      .map(({ count, key, path }) => ({ label: showCount(key, count), href: visit.path(path) })),
    erasedFrom: showErasure(overview.deletion_scheduled_at, visit.server.config.ACCOUNT_DELETION_GRACE_DAYS * 24),
  };
  return { ...atHome, moderation, administration };
}
