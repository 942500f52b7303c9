import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { createBoard, maxDescriptionLength, updateBoard } from '../../domain/boards/edit-board.ts';
import { BoardChangedError, requireBoardAsSeen } from '../../domain/boards/find-board.ts';
import { type BoardOverview, listBoardOverviews } from '../../domain/boards/list-boards.ts';
import type { Board } from '../../entities/board.ts';
import { definePage } from '../../pages/shell/page.ts';
import { shortLine } from '../../text/plain-text.ts';
import type { Problem } from '../shell/form.ts';
import { requireAdminAccount } from '../shell/session.ts';
import { showCount, shownName } from '../shell/show.ts';
import { type Route, serveRoutes, type Visit } from '../shell/visit.ts';
import { boardPage, flagsOf, linksElsewhere, listOf, onBoard, pathOnBoard, placeIn } from './board-page.ts';
import { deadlineRoute } from './deadline-routes.ts';
import { statusRoutes } from './status-routes.ts';
import { tagRoutes } from './tag-routes.ts';

const listPage = definePage<object>('admin/boards/list');
const newPage = definePage<object>('admin/boards/new');
const settingsPage = definePage<object>('admin/boards/settings');

const perPage = 25;

const notices = {
  created: 'The board is made, with the six default statuses.',
  saved: 'The settings are saved.',
  frozen: 'The board is frozen.',
  unfrozen: 'The board takes ideas, votes and comments again.',
};

const freezing = {
  title: 'Freeze a board',
  verb: 'Freeze',
  explanation:
    'From then on every idea, vote and comment is refused, in the pages and for every client of the API, with 423 board_frozen. Everybody can read on. You can undo it at any time.',
  button: 'Freeze the board',
  isDangerous: true,
  back: 'Leave it open',
};
const unfreezing = {
  title: 'Unfreeze a board',
  verb: 'Unfreeze',
  explanation: 'Clients may submit, vote and comment again at once, within the deadlines of the board.',
  button: 'Unfreeze the board',
  isDangerous: false,
  back: 'Leave it frozen',
};

/** The boards of an account and all their settings, for its owners and admins. */
export function serveBoards(app: FastifyInstance, server: ServerDependencies) {
  serveRoutes(app, server, requireAdminAccount, [
    { path: '/admin/boards', show: showList },
    { path: '/admin/boards/new', show: showNew, run: addBoard },
    // The longer path is for a board with the slug `new`. Its shorter path is that of the form for a new board.
    { path: '/admin/boards/:slug', show: showSettings },
    { path: '/admin/boards/:slug/settings', show: showSettings, run: saveSettings },
    freezeRoute('freeze', freezing, { isFrozen: true, notice: 'frozen' }),
    freezeRoute('unfreeze', unfreezing, { isFrozen: false, notice: 'unfrozen' }),
    deadlineRoute,
    ...statusRoutes,
    ...tagRoutes,
  ]);
}

/** Both directions ask first: a freeze stops every client. */
function freezeRoute(
  page: string,
  { back, ...question }: typeof freezing,
  { isFrozen, notice }: { isFrozen: boolean; notice: keyof typeof notices },
): Route {
  return {
    path: `/admin/boards/:slug/${page}`,
    ask: async visit => ({
      ...question,
      name: shownName(await onBoard(visit, async (_admin, board) => board.name)),
      back: { label: back, href: pathOnBoard(visit, 'settings') },
    }),
    run: async visit => {
      await onBoard(visit, (admin, board) => updateBoard(admin, board, { isFrozen }));
      return pathOnBoard(visit, 'settings', { notice });
    },
  };
}

async function addBoard(visit: Visit) {
  const board = { ...readForm(visit), accountId: visit.account.id };
  const { slug } = await visit.administer(admin => createBoard(admin, board));
  return pathOnBoard(visit, 'settings', { slug, notice: 'created' });
}

async function saveSettings(visit: Visit) {
  const form = readForm(visit);
  await visit.administer(async admin => {
    const seenAt = visit.field('seen_at');
    await updateBoard(admin, await requireBoardAsSeen(admin, visit.account.id, visit.word('slug'), seenAt), form);
  });
  return pathOnBoard(visit, 'settings', { slug: form.slug, notice: 'saved' });
}

async function showList(visit: Visit) {
  const boards = await visit.administer(admin => listBoardOverviews(admin, visit.account.id, placeIn(visit, perPage)));
  const shown = boards.map(board => presentOverview(visit, board));
  const path = (page: Record<string, string>) => visit.path('/admin/boards', page);
  return visit.page(listPage, 'Boards', {
    accountName: shownName(visit.account.name),
    boards: listOf(visit, shown, { perPage, next: 'More boards', path }),
    newPath: visit.path('/admin/boards/new'),
  });
}

function presentOverview(visit: Visit, board: BoardOverview) {
  const { slug, is_frozen: isFrozen, is_public: isPublic, pre_moderation: preModeration, pending_count: count } = board;
  const timeOf = (text: string | null) => (text === null ? null : new Date(text));
  const submissions = { openAt: timeOf(board.submissions_open_at), closeAt: timeOf(board.submissions_close_at) };
  const voting = { openAt: timeOf(board.voting_open_at), closeAt: timeOf(board.voting_close_at) };
  return {
    name: shownName(board.name),
    slug,
    href: pathOnBoard(visit, 'settings', { slug }),
    flags: flagsOf({ isFrozen, isPublic, preModeration, submissions, voting }, visit.server.clock.now()),
    pending: count > 0 ? `${showCount(count, 'idea')} ${count === 1 ? 'awaits' : 'await'} approval` : undefined,
    links: linksElsewhere(visit, { slug, isPublic }),
  };
}

function showNew(visit: Visit, problem?: Problem) {
  const form = problem
    ? readForm(visit)
    : { name: '', slug: '', description: '', preModeration: false, isPublic: false };
  const data = {
    form,
    maxDescriptionLength,
    action: visit.path('/admin/boards/new'),
    listPath: visit.path('/admin/boards'),
  };
  return visit.page(newPage, 'New board', data, { problem });
}

async function showSettings(visit: Visit, problem?: Problem) {
  const board = await onBoard(visit, async (_admin, found) => found);
  const { slug, isFrozen, isPublic, updatedAt } = board;
  const form = problem ? readForm(visit) : board;
  const isStale = problem?.cause instanceof BoardChangedError;
  const data = {
    form,
    maxDescriptionLength,
    action: pathOnBoard(visit, 'settings', { slug }),
    // A person who is told of another's change has seen it now. A person who is told of another problem has not.
    seenAt: problem && !isStale ? visit.field('seen_at') : updatedAt.toISOString(),
    isFrozen,
    freezePath: pathOnBoard(visit, isFrozen ? 'unfreeze' : 'freeze', { slug }),
    publicUrl: isPublic ? `${visit.server.config.BASE_URL}/b/${slug}` : undefined,
    isStale,
    meanwhile: isStale ? differences(form, board) : [],
  };
  return boardPage(visit, board, { template: settingsPage, tab: 'settings' }, data, { notices, problem });
}

type BoardForm = ReturnType<typeof readForm>;

function readForm(visit: Visit) {
  return {
    name: visit.field('name'),
    slug: visit.field('slug').trim(),
    // Browsers end lines with CRLF in a form.
    description: visit.field('description').replaceAll('\r\n', '\n'),
    preModeration: visit.field('pre_moderation') !== '',
    isPublic: visit.field('is_public') !== '',
  };
}

/** The stored values that differ from the entered ones. */
function differences(given: BoardForm, board: Board) {
  const yesOrNo = (value: boolean) => (value ? 'yes' : 'no');
  const shown = [
    { field: 'name', label: 'Name', value: shortLine(board.name, 100) },
    { field: 'description', label: 'Description', value: shortLine(board.description, 200, '(none)') },
    { field: 'preModeration', label: 'New ideas await approval', value: yesOrNo(board.preModeration) },
    { field: 'isPublic', label: 'Public', value: yesOrNo(board.isPublic) },
  ] as const;
  return shown.filter(({ field }) => given[field] !== board[field]);
}
