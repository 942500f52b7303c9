import type { FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import { requireBoard } from '../../domain/boards/find-board.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import type { Board } from '../../entities/board.ts';
import { wordIn } from '../shell/form.ts';
import { administer } from '../shell/session.ts';

/** Does something with the board that the address names, in a transaction. A board of another account is not found. */
export function onBoard<T>(
  server: ServerDependencies,
  request: FastifyRequest,
  account: AccountOfUser,
  work: (admin: Administration, board: Board) => Promise<T>,
): Promise<T> {
  const slug = wordIn(request, 'slug');
  return administer(server, request, async admin => work(admin, await requireBoard(admin, account.id, slug)));
}
