import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { addStatus, removeStatus, requireStatus, updateStatus } from '../../domain/statuses/edit-statuses.ts';
import { listStatusesInUse } from '../../domain/statuses/list-statuses.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, noticeIn, type Problem, problemOf, wordIn } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { nameAccount, requireAdminAccount, requireSession } from '../shell/session.ts';
import { type BoardHeader, headerOf, pathOnBoard } from './board-page.ts';
import { onBoard } from './on-board.ts';
import { type ListPage, pageOf, placeIn } from './pages-of-list.ts';
import { type PresentedStatus, presentStatus } from './present-status.ts';
import {
  emptyStatusForm,
  readStatusForm,
  type ShownStatusForm,
  type StatusForm,
  shownForm,
  statusFieldsOf,
} from './status-form.ts';

interface ListData {
  board: BoardHeader;
  statuses: ListPage<PresentedStatus>;
  form: ShownStatusForm;
  addPath: string;
  formToken: string;
  notice?: string | undefined;
  problem?: string | undefined;
  /** The problem is one of the form. */
  isOfForm: boolean;
}

const listPage = definePage<ListData>('admin/boards/statuses');

const perPage = 20;

const notices = {
  added: 'The status is added.',
  moved: 'The order is changed.',
  saved: 'The status is saved.',
  removed: 'The status is removed.',
};

/** The statuses of a board in their order, for the owners and admins of its account. */
export function serveStatusList(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];
  const path = '/admin/boards/:slug/statuses';

  app.get(path, { onRequest }, async (request, reply) =>
    showList(request, reply, requireAdminAccount(request), { notice: noticeIn(request, notices) }),
  );

  app.post(path, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const slug = wordIn(request, 'slug');
    const form = readStatusForm(request.body);
    try {
      await onBoard(server, request, account, async (admin, board) => addStatus(admin, board, statusFieldsOf(form)));
      return reply.redirect(pathOnBoard(request, account, slug, 'statuses', { notice: 'added' }), 303);
    } catch (error) {
      return showList(request, reply, account, { form, problem: problemOf(error) });
    }
  });

  // The place is named, and not the direction: pressed twice, the button moves a status once.
  app.post(`${path}/:key/move`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const [slug, key] = [wordIn(request, 'slug'), wordIn(request, 'key')];
    const position = Number.parseInt(fieldOf(request.body, 'position'), 10) || 1;
    await onBoard(server, request, account, async (admin, board) =>
      updateStatus(admin, await requireStatus(admin, board, key), { position }),
    );
    const page = Math.ceil(position / perPage);
    const parameters = { notice: 'moved', ...(page > 1 ? { page: String(page) } : {}) };
    return reply.redirect(`${pathOnBoard(request, account, slug, 'statuses', parameters)}#status-${key}`, 303);
  });

  app.post(`${path}/:key/remove`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const slug = wordIn(request, 'slug');
    try {
      await onBoard(server, request, account, async (admin, board) =>
        removeStatus(admin, await requireStatus(admin, board, wordIn(request, 'key'))),
      );
      return reply.redirect(pathOnBoard(request, account, slug, 'statuses', { notice: 'removed' }), 303);
    } catch (error) {
      return showList(request, reply, account, { problem: problemOf(error) });
    }
  });

  async function showList(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { form, problem, notice }: { form?: StatusForm; problem?: Problem; notice?: string | undefined },
  ) {
    const { board, statuses } = await onBoard(server, request, account, async (admin, board) => ({
      board,
      statuses: await listStatusesInUse(admin, board, placeIn(request, perPage)),
    }));
    const { slug } = board;
    const data: ListData = {
      board: headerOf(request, account, board, { current: 'statuses', now: server.clock.now() }),
      statuses: pageOf(
        request,
        statuses.map(status => presentStatus(request, account, slug, status)),
        {
          perPage,
          next: 'More statuses',
          pathOfPage: page => pathOnBoard(request, account, slug, 'statuses', page),
        },
      ),
      form: shownForm(form ?? emptyStatusForm),
      addPath: pathOnBoard(request, account, slug, 'statuses'),
      formToken: formTokenOf(request),
      notice,
      problem: problem?.message,
      isOfForm: form !== undefined,
    };
    return sendPage(
      reply,
      listPage(frameOf(request, account, `${data.board.name}: Statuses`), data),
      problem?.status ?? 200,
    );
  }
}
