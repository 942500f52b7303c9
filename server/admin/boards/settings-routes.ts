import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { maxDescriptionLength } from '../../domain/boards/create-board.ts';
import { BoardChangedError, requireBoardAsSeen } from '../../domain/boards/find-board.ts';
import { updateBoard } from '../../domain/boards/update-board.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import type { Board } from '../../entities/board.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { shortLine } from '../../text/plain-text.ts';
import { fieldOf, noticeIn, type Problem, problemOf, wordIn } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, requireAdminAccount, requireSession } from '../shell/session.ts';
import { type BoardForm, formOfBoard, readBoardForm } from './board-form.ts';
import { type BoardHeader, headerOf, pathOnBoard } from './board-page.ts';
import { onBoard } from './on-board.ts';

interface SettingsData {
  board: BoardHeader;
  form: BoardForm;
  maxDescriptionLength: number;
  action: string;
  formToken: string;
  /** What is written back with the form: of what time the settings are that it was filled with. */
  seenAt: string;
  isFrozen: boolean;
  freezePath: string;
  /** Where everybody may read the board. */
  publicUrl?: string | undefined;
  notice?: string | undefined;
  problem?: string | undefined;
  /** Somebody else changed the board meanwhile. */
  isStale: boolean;
  /** What they made of it. */
  meanwhile: { label: string; value: string }[];
}

/** What of the page is not as it is stored. */
interface Given {
  form?: BoardForm;
  seenAt?: string;
  isStale?: boolean;
  notice?: string | undefined;
  problem?: Problem;
}

const settingsPage = definePage<SettingsData>('admin/boards/settings');

const notices = {
  created: 'The board is made, with the six default statuses.',
  saved: 'The settings are saved.',
  frozen: 'The board is frozen.',
  unfrozen: 'The board takes ideas, votes and comments again.',
};

/** The settings of a board, for the owners and admins of its account. */
export function serveBoardSettings(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];
  const path = '/admin/boards/:slug/settings';

  // The longer address is for a board with the slug `new`, whose shorter one is that of the form for a new board.
  for (const one of ['/admin/boards/:slug', path]) {
    app.get(one, { onRequest }, async (request, reply) =>
      show(request, reply, requireAdminAccount(request), { notice: noticeIn(request, notices) }),
    );
  }

  app.post(path, { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const form = readBoardForm(request.body);
    const seenAt = fieldOf(request.body, 'seen_at');
    try {
      await administer(server, request, async admin => {
        await updateBoard(admin, await requireBoardAsSeen(admin, account.id, wordIn(request, 'slug'), seenAt), form);
      });
      return reply.redirect(pathOnBoard(request, account, form.slug, 'settings', { notice: 'saved' }), 303);
    } catch (error) {
      const problem = problemOf(error);
      // Whoever is told what somebody else made of it has seen that now; whoever is told something else has not.
      const isStale = error instanceof BoardChangedError;
      return show(request, reply, account, { form, problem, isStale, ...(isStale ? {} : { seenAt }) });
    }
  });

  async function show(request: FastifyRequest, reply: FastifyReply, account: AccountOfUser, given: Given) {
    const { form, notice, problem, isStale = false } = given;
    const board = await onBoard(server, request, account, async (_admin, found) => found);
    const { slug, isFrozen, isPublic, updatedAt } = board;
    const data: SettingsData = {
      board: headerOf(request, account, board, { current: 'settings', now: server.clock.now() }),
      form: form ?? formOfBoard(board),
      maxDescriptionLength,
      action: pathOnBoard(request, account, slug, 'settings'),
      formToken: formTokenOf(request),
      seenAt: given.seenAt ?? updatedAt.toISOString(),
      isFrozen,
      freezePath: pathOnBoard(request, account, slug, isFrozen ? 'unfreeze' : 'freeze'),
      publicUrl: isPublic ? `${server.config.BASE_URL}/b/${slug}` : undefined,
      notice,
      problem: problem?.message,
      isStale,
      meanwhile: form && isStale ? differences(form, board) : [],
    };
    return sendPage(
      reply,
      settingsPage(frameOf(request, account, `${data.board.name}: Settings`), data),
      problem?.status ?? 200,
    );
  }
}

/** What is stored where it is different from what was entered. */
function differences(given: BoardForm, board: Board): { label: string; value: string }[] {
  const yesOrNo = (value: boolean) => (value ? 'yes' : 'no');
  const shown = [
    { field: 'name', label: 'Name', value: shortLine(board.name, 100) },
    { field: 'description', label: 'Description', value: shortLine(board.description, 200, '(none)') },
    { field: 'preModeration', label: 'New ideas await approval', value: yesOrNo(board.preModeration) },
    { field: 'isPublic', label: 'Public', value: yesOrNo(board.isPublic) },
  ] as const;
  return shown.filter(({ field }) => given[field] !== board[field]).map(({ label, value }) => ({ label, value }));
}
