import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { requireStatus, updateStatus } from '../../domain/statuses/edit-statuses.ts';
import { readStatusInUse } from '../../domain/statuses/list-statuses.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { type Problem, problemOf, wordIn } from '../shell/form.ts';
import { askFor, formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import { nameAccount, requireAdminAccount, requireSession } from '../shell/session.ts';
import { showCount } from '../shell/show.ts';
import { type BoardHeader, headerOf, pathOnBoard } from './board-page.ts';
import { onBoard } from './on-board.ts';
import { type PresentedStatus, presentStatus } from './present-status.ts';
import {
  formOfStatus,
  readStatusForm,
  type ShownStatusForm,
  type StatusForm,
  shownForm,
  statusFieldsOf,
} from './status-form.ts';

interface StatusData {
  board: BoardHeader;
  status: PresentedStatus;
  form: ShownStatusForm;
  listPath: string;
  formToken: string;
  problem?: string | undefined;
}

const statusPage = definePage<StatusData>('admin/boards/status');

/** One status of a board, for the owners and admins of its account. */
export function serveStatus(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];
  const path = '/admin/boards/:slug/statuses/:key';

  app.get(path, { onRequest }, async (request, reply) => show(request, reply, requireAdminAccount(request), {}));

  app.post(path, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const form = readStatusForm(request.body);
    try {
      await onBoard(server, request, account, async (admin, board) =>
        updateStatus(admin, await requireStatus(admin, board, wordIn(request, 'key')), statusFieldsOf(form)),
      );
      const list = pathOnBoard(request, account, wordIn(request, 'slug'), 'statuses', { notice: 'saved' });
      return reply.redirect(list, 303);
    } catch (error) {
      return show(request, reply, account, { form, problem: problemOf(error) });
    }
  });

  app.get(`${path}/remove`, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const { board, status } = await read(request, account);
    const { status: chip, removePath } = presentStatus(request, account, board.slug, status);
    const list = pathOnBoard(request, account, board.slug, 'statuses');
    const count = status.idea_count + status.pending_count;
    if (count > 0) {
      throw new Refusal(
        409,
        'Ideas have this status',
        `There ${count === 1 ? 'is' : 'are'} ${showCount(count, 'idea')} with the status ${chip.label}. Move what has it to another one first.`,
        { label: 'To the statuses', href: list },
      );
    }
    return askFor(request, reply, account, {
      title: 'Remove a status',
      verb: 'Remove',
      name: chip.label,
      explanation: `Clients that set the status ${status.key} are answered 422 invalid_status from then on.`,
      action: removePath,
      button: 'Remove the status',
      isDangerous: true,
      back: { label: 'Keep it', href: list },
    });
  });

  function read(request: FastifyRequest, account: AccountOfUser) {
    return onBoard(server, request, account, async (admin, board) => ({
      board,
      status: await readStatusInUse(admin, board, wordIn(request, 'key')),
    }));
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { form, problem }: { form?: StatusForm; problem?: Problem },
  ) {
    const { board, status } = await read(request, account);
    const data: StatusData = {
      board: headerOf(request, account, board, { current: 'statuses', now: server.clock.now() }),
      status: presentStatus(request, account, board.slug, status),
      form: shownForm(form ?? formOfStatus(status)),
      listPath: pathOnBoard(request, account, board.slug, 'statuses'),
      formToken: formTokenOf(request),
      problem: problem?.message,
    };
    return sendPage(
      reply,
      statusPage(frameOf(request, account, `${data.board.name}: Status`), data),
      problem?.status ?? 200,
    );
  }
}
