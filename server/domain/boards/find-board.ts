import { Board } from '../../entities/board.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

export interface BoardOfAccount {
  id: number;
  accountId: number;
}

export function requireBoard(admin: Administration, accountId: number, slug: string): Promise<Board> {
  return admin.em.findOneOrFail(Board, { accountId, slug }, { failHandler: () => notFound(slug) });
}

/** The error when another person has changed the board since the settings page was opened. */
export class BoardChangedError extends AdministrationError {
  constructor() {
    super('conflict', t('refusals.board.changed'));
  }
}

/** Locks a board. Throws if its updatedAt differs from seenAt, the updatedAt (RFC 3339) that the person has seen. */
export async function requireBoardAsSeen(admin: Administration, accountId: number, slug: string, seenAt: string) {
  const locked = await admin.db
    .selectFrom('boards')
    .select('id')
    .where(row => row.and({ account_id: accountId, slug }))
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow(() => notFound(slug));
  const board = await admin.em.findOneOrFail(Board, { id: locked.id, accountId });
  if (board.updatedAt.toISOString() !== seenAt) throw new BoardChangedError();
  return board;
}

/**
 * Locks a board, so that changes of its statuses and additions of tags run one after the other. They also wait for
 * submissions of ideas, and submissions wait for them.
 */
export async function lockBoard(admin: Administration, board: BoardOfAccount) {
  await admin.db
    .selectFrom('boards')
    .select('id')
    .where(row => row.and({ account_id: board.accountId, id: board.id }))
    .forNoKeyUpdate()
    .execute();
}

function notFound(slug: string) {
  return new AdministrationError('not_found', t('refusals.board.unknown', { slug: quote(slug) }));
}
