import { sql } from 'kysely';
import { type Arguments, query } from '../../database/query.ts';
import { checkNotFrozen } from '../boards/read-board.ts';
import { checkAuthor, checkChangeWindow } from '../change-rights.ts';
import { DomainError } from '../domain-error.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkUnchanged, deletedText, notifyMentioned } from '../ideas/change-idea.ts';
import { checkMayDeleteText, checkPublished, type LockedIdea, lockIdeaEvenIfFrozen } from '../ideas/lock-ideas.ts';
import { replaceMentions } from '../mentions/record-mentions.ts';
import type { WriteOperation } from '../operation.ts';
import { presentTime } from '../time.ts';
import { type CommentView, presentComment } from './comments.ts';
import { replaceCopies } from './replace-copies.ts';

export interface CommentOfIdea {
  ideaId: number;
  commentId: number;
}

const selectComment = query(
  'select_comment_to_change',
  (db, $: Arguments<CommentOfIdea & { accountId: number; statusId: number }>) =>
    db
      .selectFrom(['comments as c', 'users as u', 'statuses as s'])
      .select(['c.id', 'c.idea_id', 'u.name as author_name', 'c.edited_at'])
      .select(['c.author_id', 'c.body', 'c.created_at', 'c.is_official', 's.allow_comments'])
      .select(c => c.fn.coalesce('c.edited_at', 'c.created_at').as('updated_at'))
      .where(c => c.and({ 'c.account_id': $.accountId, 'c.idea_id': $.ideaId, 'c.id': $.commentId }))
      .whereRef('u.id', '=', 'c.author_id')
      .where(s => s.and({ 's.account_id': $.accountId, 's.id': $.statusId })),
);

/** Each edit increases the time of the last change, even if two edits happen in the same millisecond. */
const updateComment = query(
  'update_comment',
  (db, $: Arguments<{ accountId: number; commentId: number; body: string; now: Date }>) =>
    db
      .updateTable('comments')
      .set({
        body: $.body,
        edited_at: sql<string>`greatest(${$.now}, coalesce(edited_at, created_at) + interval '1 millisecond')`,
      })
      .where(c => c.and({ account_id: $.accountId, id: $.commentId }))
      .returning('edited_at'),
);

export interface CommentChanges {
  body: string;
  ifUpdatedAt?: string | undefined;
  reason?: string | undefined;
}

/**
 * Edits a comment. Its author may do this for some minutes, and a moderator at any time. The board must not be frozen,
 * and the idea must be published and accept comments. The edit notifies only people whom the earlier text did not
 * mention. An edit without a change succeeds, so that a client may repeat it. The function locks the idea first, like
 * commentOnIdea, so that concurrent changes of a comment run one after the other.
 */
export async function editComment(
  op: WriteOperation,
  { ideaId, commentId }: CommentOfIdea,
  { body, ifUpdatedAt, reason }: CommentChanges,
): Promise<CommentView> {
  const { accountId } = op.actor;
  const idea = await lockIdeaEvenIfFrozen(op, ideaId);
  const comment = await requireComment(op, idea, commentId);
  checkAuthor(op, comment);
  checkNotFrozen(idea);
  if (!comment.allow_comments && !comment.is_official) throw new DomainError('status_comments_closed');
  checkChangeWindow(op, comment);
  checkPublished(idea);
  if (body === comment.body) return comment;
  checkUnchanged(comment.updated_at, ifUpdatedAt, 'comment_changed');

  const [updated] = await op.query(updateComment, { accountId, commentId, body, now: op.now });
  if (!updated) throw new Error('An update returned no row');
  const edited = { ...comment, ...updated, body };
  await replaceCopies(op, { ideaId, commentId, authorId: comment.author_id, text: body });
  const { author: _, ...shown } = presentComment(edited);
  const details = { comment: shown, ...(reason !== undefined && { reason }) };
  const eventId = await recordEvent(op, 'comment.updated', ideaId, details);
  const text = { ideaId, commentId, authorId: comment.author_id };
  await notifyMentioned(op, ideaId, eventId, await replaceMentions(op, text, { old: comment.body, new: body }));
  return edited;
}

const removeComment = query('remove_comment', (db, $: Arguments<CommentOfIdea & { accountId: number }>) =>
  db
    .with('removed', cte =>
      cte
        .deleteFrom('comments')
        .where(c => c.and({ account_id: $.accountId, idea_id: $.ideaId, id: $.commentId }))
        .returning('id'),
    )
    .updateTable('ideas')
    .from('removed')
    .set(idea => ({ comment_count: idea('comment_count', '-', 1) }))
    .where(row => row.and({ 'ideas.account_id': $.accountId, 'ideas.id': $.ideaId })),
);

/**
 * Deletes a comment. Its author may do this for some minutes, and a moderator at any time. A deletion only removes
 * text. So a comment can be deleted even if its idea is merged, or if the idea's status is closed for comments. On a
 * frozen board, people can delete comments but tokens cannot. Nobody may write two comments in a row. So after the
 * deletion, the author may comment again, unless the same author wrote the last remaining comment.
 */
export async function deleteComment(
  op: WriteOperation,
  { ideaId, commentId }: CommentOfIdea,
  reason?: string,
): Promise<void> {
  const { accountId } = op.actor;
  const idea = await lockIdeaEvenIfFrozen(op, ideaId);
  const comment = await requireComment(op, idea, commentId);
  checkAuthor(op, comment);
  checkMayDeleteText(op, idea);
  checkChangeWindow(op, comment);
  await op.query(removeComment, { accountId, ideaId, commentId });
  await replaceCopies(op, { ideaId, commentId, authorId: comment.author_id, text: deletedText });
  await recordEvent(op, 'comment.deleted', ideaId, {
    comment: {
      id: commentId,
      idea_id: ideaId,
      created_at: presentTime(comment.created_at),
      official: comment.is_official,
    },
    ...(reason !== undefined && { reason }),
  });
  op.audit?.record('comment.deleted', {
    account_id: accountId,
    idea_id: ideaId,
    comment_id: commentId,
    user_id: comment.author_id,
  });
}

async function requireComment(op: WriteOperation, { id: ideaId, status_id: statusId }: LockedIdea, commentId: number) {
  const [comment] = await op.query(selectComment, { accountId: op.actor.accountId, ideaId, commentId, statusId });
  if (!comment) throw new DomainError('not_found');
  return comment;
}
