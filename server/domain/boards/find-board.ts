import { statement } from '../../database/statement.ts';
import { Board } from '../../entities/board.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

export async function requireBoard(admin: Administration, accountId: number, slug: string): Promise<Board> {
  const board = await admin.em.findOne(Board, { accountId, slug });
  if (!board) throw new AdministrationError('not_found', `The account has no board ${quote(slug)}`);
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
