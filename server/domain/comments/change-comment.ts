import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import { t } from '../../text/catalogue.ts';
import { AdministrationError } from '../administration.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished, type LockedIdea, lockIdea, lockIdeaEvenIfFrozen } from '../ideas/lock-ideas.ts';
import { replaceMentions } from '../mentions/record-mentions.ts';
import type { WriteOperation } from '../operation.ts';
import type { CommentView } from './comments.ts';
import { replaceCopies } from './replace-copies.ts';

/** The author of a comment may edit or delete it for this number of minutes. */
export const commentChangeMinutes = 15;

/** The text of a deleted comment in the copies that stay, such as the event of the comment. */
const deletedText = '(deleted)';

export interface CommentOfIdea {
  ideaId: number;
  commentId: number;
}

type CommentRights = Pick<CommentView, 'author_id' | 'created_at'>;
type CommentChanger = Pick<WriteOperation, 'actor' | 'now'>;

/** Whether a person may edit or delete a comment now. The state of the board and the idea can still prevent an edit. */
export function mayChangeComment({ actor, now }: CommentChanger, { author_id, created_at }: CommentRights) {
  const isRecent = now.getTime() < Date.parse(created_at) + commentChangeMinutes * 60_000;
  const mayEdit = author_id === actor.userId && isRecent;
  return { edit: mayEdit, delete: mayEdit || actor.isModerator };
}

/** Throws if a person may not edit or delete a comment now. */
export function checkCommentChange(by: CommentChanger, comment: CommentRights, verb: 'edit' | 'delete') {
  if (mayChangeComment(by, comment)[verb]) return;
  if (comment.author_id !== by.actor.userId) {
    throw new AdministrationError('forbidden', t(`refusals.comment.${verb}_others`));
  }
  throw new AdministrationError('conflict', t(`refusals.comment.${verb}_late`, { minutes: commentChangeMinutes }));
}

const selectComment = query(
  'select_comment_to_change',
  (db, $: Arguments<CommentOfIdea & { accountId: number; statusId: number }>) =>
    db
      .selectFrom(['comments as c', 'statuses as s'])
      .select(['c.author_id', 'c.body', 'c.created_at', 'c.is_official', 's.allow_comments'])
      .where(c => c.and({ 'c.account_id': $.accountId, 'c.idea_id': $.ideaId, 'c.id': $.commentId }))
      .where(s => s.and({ 's.account_id': $.accountId, 's.id': $.statusId })),
);

const updateComment = query(
  'update_comment',
  (db, $: Arguments<{ accountId: number; commentId: number; body: string; now: Date }>) =>
    db
      .updateTable('comments')
      .set({ body: $.body, edited_at: $.now })
      .where(c => c.and({ account_id: $.accountId, id: $.commentId })),
);

/**
 * Changes the text of a comment by the acting user, within some minutes of its creation. The comment keeps its place.
 * An edit adds text to the board. So it needs a board that is not frozen and a published idea that accepts comments.
 * It notifies only the people whom the comment did not mention before.
 *
 * Locks the idea first, like commentOnIdea. So the second of two concurrent changes of a comment sees the first.
 */
export async function editComment(
  op: WriteOperation,
  { ideaId, commentId, body }: CommentOfIdea & { body: string },
): Promise<void> {
  const { accountId } = op.actor;
  const idea = await lockIdea(op, ideaId);
  const comment = await requireComment(op, idea, commentId);
  checkCommentChange(op, comment, 'edit');
  if (!comment.allow_comments && !comment.is_official) throw new DomainError('status_comments_closed');
  checkPublished(idea);
  if (body === comment.body) return;
  await op.query(updateComment, { accountId, commentId, body, now: op.now });
  const events = await replaceCopies(op, { ideaId, commentId, authorId: comment.author_id, text: body });
  if (!(await replaceMentions(op, { ideaId, commentId }, { old: comment.body, new: body }))) return;
  // The event that notified the followers of the comment. Nobody gets a second notification of this event.
  const event = events.find(({ type }) => type === 'idea.status_changed') ?? events[0];
  if (!event) return;
  await addJob(op, {
    task: 'tell_people',
    payload: { account_id: accountId, event_id: event.id, is_edit: true },
    queueName: `people:${ideaId % 8}`,
  });
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
 * Deletes a comment. Its author may do this within some minutes of its creation, and a moderator at any time. Then the
 * author may comment again, if the last comment is not theirs.
 *
 * A deletion only takes text from the board. So it is possible on a frozen board, in a status that accepts no comments,
 * and on a merged idea. Otherwise nobody could remove a password or an insult from a frozen board.
 */
export async function deleteComment(op: WriteOperation, { ideaId, commentId }: CommentOfIdea): Promise<void> {
  const { accountId } = op.actor;
  const idea = await lockIdeaEvenIfFrozen(op, ideaId);
  const comment = await requireComment(op, idea, commentId);
  checkCommentChange(op, comment, 'delete');
  await op.query(removeComment, { accountId, ideaId, commentId });
  await replaceCopies(op, { ideaId, commentId, authorId: comment.author_id, text: deletedText });
  // No event reports a deletion, so the audit entry is its only trace.
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
