import { Board } from '../../entities/board.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

/** What names a board in a statement. */
export interface BoardOfAccount {
  id: number;
  accountId: number;
}

export function requireBoard(admin: Administration, accountId: number, slug: string): Promise<Board> {
  return admin.em.findOneOrFail(Board, { accountId, slug }, { failHandler: () => notFound(slug) });
}

/** Somebody else changed the board after the page with its settings was opened. */
export class BoardChangedError extends AdministrationError {
  constructor() {
    super('conflict', 'The board was changed since the page was opened');
  }
}

/**
 * Locks the board for a change by a person who saw its settings. Refuses if the board changed after seenAt, which is in
 * RFC 3339.
 */
export async function requireBoardAsSeen(
  admin: Administration,
  accountId: number,
  slug: string,
  seenAt: string,
): Promise<Board> {
  const locked = await admin.db
    .selectFrom('boards')
    .select('id')
    .where('account_id', '=', accountId)
    .where('slug', '=', slug)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(() => notFound(slug));
  const board = await admin.em.findOneOrFail(Board, { id: locked.id, accountId });
  if (board.updatedAt.toISOString() !== seenAt) throw new BoardChangedError();
  return board;
}

/** Makes those who change the board's status registry wait for each other, and for ideas being submitted. */
export async function lockBoard(admin: Administration, board: BoardOfAccount) {
  await admin.db
    .selectFrom('boards')
    .select('id')
    .where('account_id', '=', board.accountId)
    .where('id', '=', board.id)
    .forNoKeyUpdate()
    .execute();
}

function notFound(slug: string) {
  return new AdministrationError('not_found', `The account has no board ${quote(slug)}`);
}
