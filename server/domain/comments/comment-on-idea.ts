import { statement } from '../../database/statement.ts';
import { Comment } from '../../entities/comment.ts';
import { DomainError } from '../domain-error.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkPublished, lockIdea } from '../ideas/lock-ideas.ts';
import type { WriteOperation } from '../operation.ts';
import type { CommentView } from './list-comments.ts';

const selectCommentRules = statement<{ allow_comments: boolean; last_author_id: number | null; author_name: string }>(
  'select_comment_rules',
  `select s.allow_comments, u.name as author_name, (
    select c.author_id from comments c where c.idea_id = $1 order by c.id desc limit 1
  ) as last_author_id
  from statuses s, users u
  where s.id = $2 and u.id = $3`,
);

const countComment = statement<never>(
  'count_comment',
  `with following as (
    insert into followers (idea_id, user_id, account_id, created_at) values ($1, $2, $3, $4) on conflict do nothing
  )
  update ideas set comment_count = comment_count + 1 where id = $1`,
);

/**
 * Adds a comment by the actor (Idea actions, rule 6). The idea is locked, so that of two comments by one user at the
 * same time the second finds the first. Who comments follows the idea.
 */
export async function commentOnIdea(op: WriteOperation, ideaId: number, body: string): Promise<CommentView> {
  const { accountId, userId } = op.actor;
  const idea = await lockIdea(op, ideaId);
  const [rules] = await op.query(selectCommentRules, [ideaId, idea.status_id, userId]);
  // The issuer of the token may have been erased since it was looked at.
  if (!rules) throw new DomainError('unauthorized');
  if (!rules.allow_comments) throw new DomainError('status_comments_closed');
  checkPublished(idea);
  if (rules.last_author_id === userId) throw new DomainError('consecutive_comment');

  const comment = op.em.create(Comment, { accountId, ideaId, authorId: userId, body, createdAt: op.now });
  await op.em.flush();
  await op.query(countComment, [ideaId, userId, accountId, op.now]);
  const author = { id: userId, name: rules.author_name };
  const created = { id: comment.id, idea_id: ideaId, body, created_at: op.now.toISOString() };
  await recordEvent(op, 'comment.created', ideaId, { comment: { ...created, author } });
  return { ...created, author_id: author.id, author_name: author.name };
}
