import { jsonArrayFrom } from 'kysely/helpers/postgres';
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
          .where('s.account_id', '=', $.accountId)
          .where('s.board_id', '=', $.boardId)
          .orderBy('s.position')
          .orderBy('s.id'),
      ).as('statuses'),
      jsonArrayFrom(
        b
          .selectFrom('tags as t')
          .select(['t.id', 't.name', 't.color'])
          .where('t.account_id', '=', $.accountId)
          .where('t.board_id', '=', $.boardId)
          .orderBy(tag => tag.fn('lower', ['t.name']))
          .orderBy('t.id'),
      ).as('tags'),
    ])
    .where('b.account_id', '=', $.accountId)
    .where('b.id', '=', $.boardId),
);

/** Reads the reader's board with its status registry and its tags. */
export async function readBoard(op: ReadOperation): Promise<BoardView> {
  const { accountId, boardId } = op.actor;
  const [board] = await op.query(selectBoard, { accountId, boardId });
  if (!board) throw new DomainError('not_found');
  return board;
}
