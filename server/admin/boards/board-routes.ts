import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { createBoard, maxDescriptionLength } from '../../domain/boards/create-board.ts';
import { type BoardOverview, listBoardOverviews } from '../../domain/boards/list-board-overviews.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { type Problem, problemOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireAdminAccount, requireSession } from '../shell/session.ts';
import { showCount, shownName } from '../shell/show.ts';
import { type Flag, flagsOf } from './board-flags.ts';
import { type BoardForm, emptyBoardForm, readBoardForm } from './board-form.ts';
import { linksElsewhere, pathOnBoard } from './board-page.ts';
import { type ListPage, pageOf, placeIn } from './pages-of-list.ts';

interface ShownOverview {
  name: string;
  slug: string;
  href: string;
  flags: Flag[];
  /** Undefined where nothing awaits approval. */
  pending?: string | undefined;
  links: Link[];
}

interface ListData {
  accountName: string;
  boards: ListPage<ShownOverview>;
  newPath: string;
}

interface NewData {
  form: BoardForm;
  maxDescriptionLength: number;
  action: string;
  formToken: string;
  problem?: string | undefined;
  listPath: string;
}

const listPage = definePage<ListData>('admin/boards/list');
const newPage = definePage<NewData>('admin/boards/new');

const perPage = 25;

/** The boards of an account, and new ones, for its owners and admins. */
export function serveBoardList(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/boards', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const boards = await administer(server, request, admin =>
      listBoardOverviews(admin, account.id, placeIn(request, perPage)),
    );
    const shown = boards.map(board => presentOverview(request, account, board, server.clock.now()));
    const pathOfPage = (page: Record<string, string>) => pathIn(request, account, '/admin/boards', page);
    const data: ListData = {
      accountName: shownName(account.name),
      boards: pageOf(request, shown, { perPage, next: 'More boards', pathOfPage }),
      newPath: pathIn(request, account, '/admin/boards/new'),
    };
    return sendPage(reply, listPage(frameOf(request, account, 'Boards'), data));
  });

  app.get('/admin/boards/new', { onRequest }, async (request, reply) =>
    showNew(request, reply, requireAdminAccount(request), emptyBoardForm),
  );

  app.post('/admin/boards/new', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const form = readBoardForm(request.body);
    try {
      const { slug } = await administer(server, request, admin =>
        createBoard(admin, { ...form, accountId: account.id }),
      );
      return reply.redirect(pathOnBoard(request, account, slug, 'settings', { notice: 'created' }), 303);
    } catch (error) {
      return showNew(request, reply, account, form, problemOf(error));
    }
  });
}

function presentOverview(
  request: FastifyRequest,
  account: AccountOfUser,
  board: BoardOverview,
  now: Date,
): ShownOverview {
  const { slug, is_frozen: isFrozen, is_public: isPublic, pre_moderation: preModeration, pending_count: count } = board;
  const timeOf = (text: string | null) => (text === null ? null : new Date(text));
  return {
    name: shownName(board.name),
    slug,
    href: pathOnBoard(request, account, slug, 'settings'),
    flags: flagsOf(
      {
        isFrozen,
        isPublic,
        preModeration,
        submissions: { openAt: timeOf(board.submissions_open_at), closeAt: timeOf(board.submissions_close_at) },
        voting: { openAt: timeOf(board.voting_open_at), closeAt: timeOf(board.voting_close_at) },
      },
      now,
    ),
    pending: count > 0 ? `${showCount(count, 'idea')} ${count === 1 ? 'awaits' : 'await'} approval` : undefined,
    links: linksElsewhere(request, account, { slug, isPublic }),
  };
}

function showNew(
  request: FastifyRequest,
  reply: FastifyReply,
  account: AccountOfUser,
  form: BoardForm,
  problem?: Problem,
) {
  const data: NewData = {
    form,
    maxDescriptionLength,
    action: pathIn(request, account, '/admin/boards/new'),
    formToken: formTokenOf(request),
    problem: problem?.message,
    listPath: pathIn(request, account, '/admin/boards'),
  };
  return sendPage(reply, newPage(frameOf(request, account, 'New board'), data), problem?.status);
}
