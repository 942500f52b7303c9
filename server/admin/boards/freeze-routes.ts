import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { updateBoard } from '../../domain/boards/update-board.ts';
import { wordIn } from '../shell/form.ts';
import { askFor } from '../shell/frame.ts';
import { nameAccount, requireAdminAccount, requireSession } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { pathOnBoard } from './board-page.ts';
import { onBoard } from './on-board.ts';

const questions = {
  freeze: {
    isFrozen: true,
    notice: 'frozen',
    title: 'Freeze a board',
    verb: 'Freeze',
    explanation:
      'From then on every idea, vote and comment is refused, in the pages and for every client of the API, with 423 board_frozen. Everybody can read on. You can undo it at any time.',
    button: 'Freeze the board',
    isDangerous: true,
    back: 'Leave it open',
  },
  unfreeze: {
    isFrozen: false,
    notice: 'unfrozen',
    title: 'Unfreeze a board',
    verb: 'Unfreeze',
    explanation: 'Clients may submit, vote and comment again at once, within the deadlines of the board.',
    button: 'Unfreeze the board',
    isDangerous: false,
    back: 'Leave it frozen',
  },
} as const;

/** Freezing a board and undoing it, which ask first: it stops every client. */
export function serveFreeze(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  for (const [verb, question] of Object.entries(questions)) {
    const path = `/admin/boards/:slug/${verb}`;

    app.get(path, { onRequest }, async (request, reply) => {
      const account = requireAdminAccount(request);
      const { name, slug } = await onBoard(server, request, account, async (_admin, board) => board);
      return askFor(request, reply, account, {
        ...question,
        name: shownName(name),
        action: pathOnBoard(request, account, slug, verb),
        back: { label: question.back, href: pathOnBoard(request, account, slug, 'settings') },
      });
    });

    app.post(path, { onRequest }, async (request, reply) => {
      const account = requireAdminAccount(request);
      const { isFrozen, notice } = question;
      await onBoard(server, request, account, (admin, board) => updateBoard(admin, board, { isFrozen }));
      return reply.redirect(pathOnBoard(request, account, wordIn(request, 'slug'), 'settings', { notice }), 303);
    });
  }
}
