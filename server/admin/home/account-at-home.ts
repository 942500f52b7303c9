import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { type AccountOverview, readAccountOverview } from '../../domain/accounts/find-account.ts';
import type { Administration } from '../../domain/administration.ts';
import { type BoardOverview, listBoardOverviews } from '../../domain/boards/list-boards.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import type { Link } from '../../pages/shell/page.ts';
import { isAdmin, isModerator, isOwner, pathIn } from '../shell/session.ts';
import { accountErasedFrom, type ShownTime, showCount, shownName } from '../shell/show.ts';

/** What the home page shows of an account: for each role what that role can do something about. */
export interface AccountAtHome {
  name: string;
  role: string;
  plan: string;
  moderation?: { boards: BoardAtHome[]; hasMore: boolean; queuePath: string } | undefined;
  administration?: Administrated | undefined;
  /** For those who neither moderate nor administer: what they can read. */
  reading?: { boards: BoardAtHome[] } | undefined;
}

interface BoardAtHome {
  name: string;
  href: string;
  /** What is to be said of it. */
  note?: string | undefined;
}

interface Administrated {
  boards: BoardAtHome[];
  /** Where there are more boards than are shown. */
  boardsPath?: string | undefined;
  newBoardPath: string;
  tokensPath: string;
  membersPath: string;
  /** What does not work. */
  troubles: Link[];
  /** When the account is erased at the earliest, where its deletion is scheduled. */
  erasedFrom?: ShownTime | undefined;
  /** Where that can be called off, for those who may. */
  keepPath?: string | undefined;
}

/** So many boards are seen at a glance; the rest is a page further. */
const maxBoards = 8;

export async function readAccountAtHome(
  admin: Administration,
  request: FastifyRequest,
  account: AccountOfUser,
  config: Pick<Config, 'ACCOUNT_DELETION_GRACE_DAYS'>,
): Promise<AccountAtHome> {
  const path = (to: string, parameters: Record<string, string> = {}) => pathIn(request, account, to, parameters);
  const list = (choice: { hasPending?: boolean; isPublic?: boolean }) =>
    listBoardOverviews(admin, account.id, { ...choice, limit: maxBoards + 1 });
  const { name, role, plan } = account;
  const atHome = { name: shownName(name), role, plan };
  if (!isModerator(account)) return { ...atHome, reading: readingOf(await list({ isPublic: true })) };
  const moderation = moderationOf(await list({ hasPending: true }), path);
  if (!isAdmin(account)) return { ...atHome, moderation };
  const boards = await list({});
  const administration = {
    boards: boards.slice(0, maxBoards).map(board => ({
      name: shownName(board.name),
      href: path(`/admin/boards/${board.slug}/settings`),
      note: board.is_frozen ? 'frozen' : undefined,
    })),
    boardsPath: boards.length > maxBoards ? path('/admin/boards') : undefined,
    newBoardPath: path('/admin/boards/new'),
    tokensPath: path('/admin/tokens'),
    membersPath: path('/admin/members'),
    ...troublesOf(await readAccountOverview(admin, account.id), config, path),
    keepPath: isOwner(account) ? path('/admin/account') : undefined,
  };
  return { ...atHome, moderation, administration };
}

type PathOf = (to: string, parameters?: Record<string, string>) => string;

function moderationOf(boards: BoardOverview[], path: PathOf): AccountAtHome['moderation'] {
  return {
    boards: boards.slice(0, maxBoards).map(({ name, slug, pending_count: count }) => ({
      name: shownName(name),
      href: path('/admin/queue', { board: slug }),
      note: showCount(count, 'idea'),
    })),
    hasMore: boards.length > maxBoards,
    queuePath: path('/admin/queue'),
  };
}

function readingOf(boards: BoardOverview[]): AccountAtHome['reading'] {
  return {
    boards: boards.slice(0, maxBoards).map(({ name, slug }) => ({ name: shownName(name), href: `/b/${slug}` })),
  };
}

function troublesOf(
  overview: AccountOverview,
  config: Pick<Config, 'ACCOUNT_DELETION_GRACE_DAYS'>,
  path: PathOf,
): Pick<Administrated, 'troubles' | 'erasedFrom'> {
  const { failing_webhooks: failing, disabled_webhooks: disabled, disabled_channels: channels } = overview;
  const are = (count: number) => (count === 1 ? 'is' : 'are');
  return {
    troubles: [
      ...(failing > 0
        ? [
            {
              label: `${showCount(failing, 'webhook')} ${failing === 1 ? 'fails' : 'fail'}`,
              href: path('/admin/webhooks'),
            },
          ]
        : []),
      ...(disabled > 0
        ? [{ label: `${showCount(disabled, 'webhook')} ${are(disabled)} disabled`, href: path('/admin/webhooks') }]
        : []),
      ...(channels > 0
        ? [{ label: `${showCount(channels, 'chat channel')} ${are(channels)} disabled`, href: path('/admin/chat') }]
        : []),
    ],
    erasedFrom: accountErasedFrom(overview.deletion_scheduled_at, config),
  };
}
