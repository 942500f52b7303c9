import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { BoardChangedError, requireBoardAsSeen } from '../../domain/boards/find-board.ts';
import { updateBoard } from '../../domain/boards/update-board.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, noticeIn, type Problem, problemOf, wordIn } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, requireAdminAccount, requireSession } from '../shell/session.ts';
import { type BoardHeader, headerOf, pathOnBoard } from './board-page.ts';
import { chosenZone, rememberZone } from './chosen-zone.ts';
import { changesOf, type DeadlineForm, readDeadlineForm, untouchedInOtherZone } from './deadline-form.ts';
import { onBoard } from './on-board.ts';
import { type PresentedDeadlines, presentDeadlines } from './present-deadlines.ts';

interface DeadlineData extends PresentedDeadlines {
  board: BoardHeader;
  action: string;
  formToken: string;
  notice?: string | undefined;
  problem?: string | undefined;
}

const deadlinePage = definePage<DeadlineData>('admin/boards/deadlines');

const notices = {
  saved: 'The deadlines are saved. They hold from this moment on.',
  first:
    'The deadlines are saved. One of the times comes twice on its day, when clocks go back: the first of the two is meant. Its time in UTC tells which that is.',
};

const look = 'The time zone is another one, and the times below now stand in it. Look at them, and save them again';

/** The deadlines of a board: when ideas and votes are taken (POST /api/v1/ideas; Idea actions, 2), for the owners and admins of its account. */
export function serveDeadlines(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];
  const path = '/admin/boards/:slug/deadlines';

  app.get(path, { onRequest }, async (request, reply) =>
    show(request, reply, requireAdminAccount(request), { notice: noticeIn(request, notices) }),
  );

  app.post(path, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const form = readDeadlineForm(request.body);
    try {
      // Only looking at the times in another zone: what was entered stays as it is.
      if (fieldOf(request.body, 'look') !== '') {
        rememberZone(reply, server.config, form.zone);
        return await show(request, reply, account, { form, seenAt: form.seenAt });
      }
      const twice = await save(request, account, form);
      rememberZone(reply, server.config, form.zone);
      const notice = twice.length > 0 ? 'first' : 'saved';
      return reply.redirect(pathOnBoard(request, account, wordIn(request, 'slug'), 'deadlines', { notice }), 303);
    } catch (error) {
      const problem = problemOf(error);
      // Whoever is told what somebody else made of it has seen that now; whoever is told something else has not.
      const seenAt = error instanceof BoardChangedError ? {} : { seenAt: form.seenAt };
      return show(request, reply, account, { form, problem, ...seenAt });
    }
  });

  function save(request: FastifyRequest, account: AccountOfUser, form: DeadlineForm) {
    return administer(server, request, async admin => {
      const board = await requireBoardAsSeen(admin, account.id, wordIn(request, 'slug'), form.seenAt);
      if (untouchedInOtherZone(board, form).length > 0) throw new AdministrationError('invalid', look);
      const { changes, twice } = changesOf(board, form);
      await updateBoard(admin, board, changes);
      return twice;
    });
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    given: { form?: DeadlineForm; seenAt?: string; problem?: Problem; notice?: string | undefined },
  ) {
    const { form, problem, notice } = given;
    const board = await onBoard(server, request, account, async (_admin, found) => found);
    const now = server.clock.now();
    const presented = presentDeadlines(board, { zoneName: form?.zone ?? chosenZone(request), form, now });
    const data: DeadlineData = {
      ...presented,
      board: headerOf(request, account, board, { current: 'deadlines', now }),
      seenAt: given.seenAt ?? presented.seenAt,
      action: pathOnBoard(request, account, board.slug, 'deadlines'),
      formToken: formTokenOf(request),
      notice,
      problem: problem?.message,
    };
    return sendPage(
      reply,
      deadlinePage(frameOf(request, account, `${data.board.name}: Deadlines`), data),
      problem?.status ?? 200,
    );
  }
}
