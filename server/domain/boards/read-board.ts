import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import type { ReadOperation } from '../operation.ts';

export type BoardView = RowOf<typeof selectBoard>;

const selectBoard = query('select_board', (db, $: Arguments<{ accountId: number; boardId: number }>) =>
  db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.description', 'b.is_frozen', 'b.pre_moderation'])
    .select(['b.submissions_open_at', 'b.submissions_close_at', 'b.voting_open_at', 'b.voting_close_at'])
    .select(b => [
      jsonArrayFrom(
        b
          .selectFrom('statuses as s')
          .select(['s.key', 's.category', 's.label', 's.is_hidden', 's.allow_votes', 's.allow_comments'])
          .where(s => s.and({ 's.account_id': $.accountId, 's.board_id': $.boardId }))
          .orderBy('s.position')
          .orderBy('s.id'),
      ).as('statuses'),
      jsonArrayFrom(
        b
          .selectFrom('tags as t')
          .select(['t.id', 't.name', 't.color'])
          .where(t => t.and({ 't.account_id': $.accountId, 't.board_id': $.boardId }))
          .orderBy(tag => tag.fn('lower', ['t.name']))
          .orderBy('t.id'),
      ).as('tags'),
    ])
    .where(b => b.and({ 'b.account_id': $.accountId, 'b.id': $.boardId })),
);

export async function readBoard(op: ReadOperation): Promise<BoardView> {
  const { accountId, boardId } = op.actor;
  const [board] = await op.query(selectBoard, { accountId, boardId });
  if (!board) throw new DomainError('not_found');
  return board;
}

const selectPublicBoard = query('select_public_board', (db, $: Arguments<{ slug: string }>) =>
  db.selectFrom('boards').select(['id', 'account_id']).where('slug', '=', $.slug).where('is_public', '=', true),
);

/** Finds a public board by its slug. Returns undefined for a private board, too. */
export async function findPublicBoard(
  database: Queryable,
  slug: string,
): Promise<RowOf<typeof selectPublicBoard> | undefined> {
  const [board] = await database.query(selectPublicBoard, { slug });
  return board;
}

/**
 * Opens a public board for any visitor. For a private board it also throws not_found, so that visitors cannot learn
 * that the board exists.
 */
export async function openPublicBoard(database: Queryable, slug: string): Promise<ReadOperation> {
  const board = await findPublicBoard(database, slug);
  if (!board) throw new DomainError('not_found');
  const { id: boardId, account_id: accountId } = board;
  return { query: database.query, actor: { accountId, boardId, voterId: null, isModerator: false } };
}

export function checkNotFrozen(board: { is_frozen: boolean }) {
  if (board.is_frozen) throw new DomainError('board_frozen');
}

/** Throws if ideas cannot be submitted now. The submission window includes its opening but not its closing time. */
export function checkSubmissions(
  board: Pick<BoardView, 'is_frozen' | 'submissions_open_at' | 'submissions_close_at'>,
  now: Date,
) {
  checkNotFrozen(board);
  if (board.submissions_open_at !== null && now < new Date(board.submissions_open_at)) {
    throw new DomainError('submissions_not_open_yet');
  }
  if (board.submissions_close_at !== null && now >= new Date(board.submissions_close_at)) {
    throw new DomainError('submissions_closed');
  }
}
