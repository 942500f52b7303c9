import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import { readIdea } from '../ideas/read-idea.ts';
import type { ReadOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { presentTime } from '../present-time.ts';

export type CommentView = RowOf<typeof selectComments>;

/** The order of the list, for its cursors: a comment's id is its age. */
export const commentSort = 'oldest';

const selectComments = query(
  'select_comments',
  (db, $: Arguments<{ accountId: number; ideaId: number; afterId: number; offset: number; limit: number }>) =>
    db
      .selectFrom('comments as c')
      .innerJoin('users as u', 'u.id', 'c.author_id')
      .select(['c.id', 'c.idea_id', 'c.body', 'c.author_id', 'u.name as author_name', 'c.created_at'])
      .where('c.account_id', '=', $.accountId)
      .where('c.idea_id', '=', $.ideaId)
      .where('c.id', '>', $.afterId)
      .orderBy('c.id')
      .offset($.offset)
      .limit($.limit),
);

/** Lists the comments of an idea, oldest first: 404 where the idea is not there for the reader. */
export async function listComments(op: ReadOperation, ideaId: number, place: Place): Promise<Page<CommentView>> {
  if (!(await readIdea(op, ideaId))) throw new DomainError('not_found');
  const rows = await op.query(selectComments, {
    accountId: op.actor.accountId,
    ideaId,
    afterId: place.cursor?.id ?? 0,
    offset: place.offset,
    limit: place.perPage + 1,
  });
  return cutPage(rows, place, comment => ({ sort: commentSort, key: 0, id: comment.id }));
}

/** A comment as clients and extensions see it. */
export function presentComment({ id, idea_id, body, author_id, author_name, created_at }: CommentView) {
  return { id, idea_id, body, author: { id: author_id, name: author_name }, created_at: presentTime(created_at) };
}
