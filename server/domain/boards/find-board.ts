import { statement } from '../../database/statement.ts';
import { Board } from '../../entities/board.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

export async function requireBoard(admin: Administration, accountId: number, slug: string): Promise<Board> {
  const board = await admin.em.findOne(Board, { accountId, slug });
  if (!board) throw notFound(slug);
  return board;
}

/** The board was changed by somebody else while its settings were looked at. */
export class BoardChangedError extends AdministrationError {
  constructor() {
    super('conflict', 'The board was changed since the page was opened');
  }
}

const lockBoardOfSlug = statement<{ id: number }>(
  'lock_board_of_slug',
  'select id from boards where account_id = $1 and slug = $2 for no key update',
);

/**
 * The same, for whoever changes it after having looked at it: others who do so wait, and what it is now is what they left.
 * Refuses where that is not of the time of seenAt any more, in RFC 3339.
 */
export async function requireBoardAsSeen(
  admin: Administration,
  accountId: number,
  slug: string,
  seenAt: string,
): Promise<Board> {
  const [locked] = await admin.query(lockBoardOfSlug, [accountId, slug]);
  if (!locked) throw notFound(slug);
  const board = await admin.em.findOneOrFail(Board, locked.id);
  if (board.updatedAt.toISOString() !== seenAt) throw new BoardChangedError();
  return board;
}

const lockBoardStatement = statement<{ id: number }>(
  'lock_board',
  'select id from boards where id = $1 for no key update',
);

/** Makes those who change the board's status registry wait for each other, and for ideas being submitted. */
export async function lockBoard(admin: Administration, boardId: number) {
  await admin.query(lockBoardStatement, [boardId]);
}

function notFound(slug: string) {
  return new AdministrationError('not_found', `The account has no board ${quote(slug)}`);
}
