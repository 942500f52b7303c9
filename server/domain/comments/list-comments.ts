import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import { readIdea } from '../ideas/read-idea.ts';
import type { ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

export interface CommentView {
  id: number;
  idea_id: number;
  body: string;
  author_id: number;
  author_name: string;
  created_at: string;
}

/** The order of the list, for its cursors: a comment's id is its age. */
export const commentSort = 'oldest';

const selectComments = statement<CommentView>(
  'select_comments',
  `select c.id, c.idea_id, c.body, c.author_id, u.name as author_name, c.created_at
  from comments c join users u on u.id = c.author_id
  where c.idea_id = $1 and c.id > $2
  order by c.id
  offset $3 limit $4`,
);

/** Lists the comments of an idea, oldest first: 404 where the idea is not there for the reader. */
export async function listComments(op: ReadOperation, ideaId: number, place: Place): Promise<Page<CommentView>> {
  if (!(await readIdea(op, ideaId))) throw new DomainError('not_found');
  const after = place.cursor?.id ?? 0;
  const rows = await op.query(selectComments, [ideaId, after, place.offset, place.perPage + 1]);
  return cutPage(rows, place, comment => ({ sort: commentSort, key: 0, id: comment.id }));
}
