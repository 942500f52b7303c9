import { sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished, lockIdea } from '../ideas/lock-ideas.ts';
import { readIdea } from '../ideas/read-idea.ts';
import type { ReadOperation, WriteOperation } from '../operation.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';
import { presentTime } from '../time.ts';

const selectCommentRules = query(
  'select_comment_rules',
  (db, $: Arguments<{ accountId: number; ideaId: number; statusId: number; userId: number }>) =>
    db
      .selectFrom(['statuses as s', 'users as u'])
      .leftJoinLateral(
        eb =>
          eb
            .selectFrom('comments as c')
            .select(['c.id', 'c.author_id', 'c.created_at'])
            .where(c => c.and({ 'c.account_id': $.accountId, 'c.idea_id': $.ideaId }))
            .orderBy('c.id', 'desc')
            .limit(1)
            .as('last'),
        join => join.onTrue(),
      )
      .select(['s.allow_comments', 'u.name as author_name'])
      .select(['last.id as last_id', 'last.author_id as last_author_id', 'last.created_at as last_created_at'])
      .where(eb => eb.and({ 's.account_id': $.accountId, 's.id': $.statusId, 'u.id': $.userId })),
);

interface NewComment {
  accountId: number;
  ideaId: number;
  authorId: number;
  tokenId: number | null;
  body: string;
  /** The new comment as JSON without its id, for the event. */
  comment: string;
  now: Date;
}

/**
 * Creates a comment, makes its author a follower, increments the comment count and records the event. All of this is
 * one round trip to the database.
 */
const insertComment = query('insert_comment', (db, $: Arguments<NewComment>) =>
  db
    .with('created', cte =>
      cte
        .insertInto('comments')
        .values({ account_id: $.accountId, idea_id: $.ideaId, author_id: $.authorId, body: $.body, created_at: $.now })
        .returning('id'),
    )
    .with('followed', cte =>
      cte
        .insertInto('followers')
        .values({ account_id: $.accountId, idea_id: $.ideaId, user_id: $.authorId, created_at: $.now })
        .onConflict(conflict => conflict.doNothing()),
    )
    .with('counted', cte =>
      cte
        .updateTable('ideas')
        .set(idea => ({ comment_count: idea('comment_count', '+', 1) }))
        .where(row => row.and({ account_id: $.accountId, id: $.ideaId }))
        .returning('id'),
    )
    // The event must show the idea with the new comment count, so this part of the statement reads `counted`.
    .selectFrom(['created', 'counted'])
    .select('created.id')
    .select(
      sql`record_event(${$.accountId}, 'comment.created', counted.id, null, ${$.authorId}, ${$.tokenId},
        jsonb_build_object('comment', ${$.comment}::jsonb || jsonb_build_object('id', created.id)), ${$.now})`.as(
        'recorded',
      ),
    ),
);

/**
 * Adds a comment by the acting user (specification: Idea actions, rule 6) and makes the user follow the idea. Locks the
 * idea, so that the second of two concurrent comments by one user sees the first.
 */
export async function commentOnIdea(op: WriteOperation, ideaId: number, body: string): Promise<CommentView> {
  const { accountId, userId, tokenId } = op.actor;
  const idea = await lockIdea(op, ideaId);
  const [rules] = await op.query(selectCommentRules, { accountId, ideaId, statusId: idea.status_id, userId });
  // The server may have erased the user after it authenticated the request.
  if (!rules) throw new DomainError('unauthorized');
  if (!rules.allow_comments) throw new DomainError('status_comments_closed');
  checkPublished(idea);
  const { last_id, last_author_id, last_created_at } = rules;
  if (last_id !== null && last_created_at !== null && last_author_id === userId) {
    const last_comment = { id: last_id, created_at: presentTime(last_created_at) };
    throw new DomainError('consecutive_comment', { details: { last_comment } });
  }

  const created = { idea_id: ideaId, body, created_at: op.now.toISOString() };
  const author = { id: userId, name: rules.author_name };
  const [comment] = await op.query(insertComment, {
    accountId,
    ideaId,
    authorId: userId,
    tokenId,
    body,
    comment: JSON.stringify({ ...created, author }),
    now: op.now,
  });
  if (!comment) throw new Error('An insert returned no row');
  return { ...created, id: comment.id, author_id: author.id, author_name: author.name, edited_at: null };
}

export type CommentView = RowOf<typeof selectComments>;

/** The name of this sort order in cursors. Comments are sorted by id, because later comments have larger ids. */
export const commentSort = 'oldest';

const selectComments = query(
  'select_comments',
  (db, $: Arguments<{ accountId: number; ideaId: number; afterId: number; offset: number; limit: number }>) =>
    db
      .selectFrom('comments as c')
      .innerJoin('users as u', 'u.id', 'c.author_id')
      .select(['c.id', 'c.idea_id', 'c.body', 'c.author_id', 'u.name as author_name', 'c.created_at'])
      .select('c.edited_at')
      .where(c => c.and({ 'c.account_id': $.accountId, 'c.idea_id': $.ideaId }))
      .where('c.id', '>', $.afterId)
      .orderBy('c.id')
      .offset($.offset)
      .limit($.limit),
);

/** Lists an idea's comments, oldest first. Throws not_found if the reader may not see the idea. */
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

/** Reads a comment of an idea. Throws not_found if the reader may not see the idea. */
export async function readComment(op: ReadOperation, ideaId: number, commentId: number): Promise<CommentView> {
  const place = { perPage: 1, page: null, offset: 0, cursor: { sort: commentSort, key: 0, id: commentId - 1 } };
  const { rows } = await listComments(op, ideaId, place);
  const [comment] = rows;
  if (comment?.id !== commentId) throw new DomainError('not_found');
  return comment;
}

export function presentComment({ id, idea_id, body, author_id, author_name, created_at }: CommentView) {
  return { id, idea_id, body, author: { id: author_id, name: author_name }, created_at: presentTime(created_at) };
}
