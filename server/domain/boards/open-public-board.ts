import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import type { ReadOperation } from '../operation.ts';

const selectPublicBoard = statement<{ id: number }>(
  'select_public_board',
  'select id from boards where slug = $1 and is_public',
);

/** What everybody may do with the public board of a slug: 404 where there is none, whether or not one is private. */
export async function openPublicBoard({ query }: Queryable, slug: string): Promise<ReadOperation> {
  const [board] = await query(selectPublicBoard, [slug]);
  if (!board) throw new DomainError('not_found');
  return { query, actor: { boardId: board.id, voterId: null, isModerator: false } };
}
