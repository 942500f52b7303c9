import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import type { ReadOperation } from '../operation.ts';

const selectPublicBoard = query('select_public_board', (db, $: Arguments<{ slug: string }>) =>
  db.selectFrom('boards').select(['id', 'account_id']).where('slug', '=', $.slug).where('is_public', '=', true),
);

/** What everybody may do with the public board of a slug: 404 where there is none, whether or not one is private. */
export async function openPublicBoard(database: Queryable, slug: string): Promise<ReadOperation> {
  const [board] = await database.query(selectPublicBoard, { slug });
  if (!board) throw new DomainError('not_found');
  const { id: boardId, account_id: accountId } = board;
  return { query: database.query, actor: { accountId, boardId, voterId: null, isModerator: false } };
}
