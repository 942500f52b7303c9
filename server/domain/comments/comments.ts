import { type Expression, type Kysely, sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished, type LockedIdea, lockIdea } from '../ideas/lock-ideas.ts';
import { readIdea } from '../ideas/read-idea.ts';
import { shownAuthor } from '../members/shown-author.ts';
import { recordMentions } from '../mentions/record-mentions.ts';
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
  isOfficial: boolean;
  /** The new comment as JSON without its id, for the event. */
  comment: string;
  now: Date;
}

/**
 * Creates a comment, makes its author a follower of the idea, increases the comment count and records the event. All of
 * this needs one round trip to the database.
 */
const insertComment = query('insert_comment', (db, $: Arguments<NewComment>) =>
  db
    .with('created', cte =>
      cte
        .insertInto('comments')
        .values({
          account_id: $.accountId,
          idea_id: $.ideaId,
          author_id: $.authorId,
          body: $.body,
          is_official: $.isOfficial,
          created_at: $.now,
        })
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
    // Reads the idea from the CTE `counted` and not from the table, so that the event contains the new comment count.
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
 * Adds a comment by the acting user (specification: Idea actions, rule 6) and makes the user follow the idea. Nobody
 * may write two comments in a row. The function locks the idea, so that the second of two concurrent comments by one
 * user sees the first and is refused.
 */
export async function commentOnIdea(op: WriteOperation, ideaId: number, body: string): Promise<CommentView> {
  const idea = await lockIdea(op, ideaId);
  const rules = await readRules(op, idea);
  if (!rules.allow_comments) throw new DomainError('status_comments_closed');
  checkPublished(idea);
  const { last_id, last_author_id, last_created_at } = rules;
  if (last_id !== null && last_created_at !== null && last_author_id === op.actor.userId) {
    const last_comment = { id: last_id, created_at: presentTime(last_created_at) };
    throw new DomainError('consecutive_comment', { details: { last_comment } });
  }
  return addComment(op, { ideaId, body, authorName: rules.author_name, isOfficial: false });
}

/**
 * Adds an official reply by a moderator to a published idea, which the caller has locked.
 *
 * The reply belongs to the moderator's action on the status and not to the discussion. So it may follow a comment by
 * the same user, and a status that is closed for comments accepts it. Otherwise a moderator could not give the reason
 * for such a status.
 */
export async function replyToIdea(op: WriteOperation, idea: LockedIdea, body: string): Promise<CommentView> {
  const rules = await readRules(op, idea);
  return addComment(op, { ideaId: idea.id, body, authorName: rules.author_name, isOfficial: true });
}

async function readRules(op: WriteOperation, { id: ideaId, status_id: statusId }: LockedIdea) {
  const { accountId, userId } = op.actor;
  const [rules] = await op.query(selectCommentRules, { accountId, ideaId, statusId, userId });
  // The user may have been erased after the server authenticated the request.
  if (!rules) throw new DomainError('unauthorized');
  return rules;
}

async function addComment(
  op: WriteOperation,
  { ideaId, body, authorName, isOfficial }: { ideaId: number; body: string; authorName: string; isOfficial: boolean },
): Promise<CommentView> {
  const { accountId, userId, tokenId } = op.actor;
  const created = { idea_id: ideaId, body, created_at: op.now.toISOString() };
  const author = { id: userId, name: authorName };
  const [comment] = await op.query(insertComment, {
    accountId,
    ideaId,
    authorId: userId,
    tokenId,
    body,
    isOfficial,
    comment: JSON.stringify({ ...created, author, updated_at: created.created_at, official: isOfficial }),
    now: op.now,
  });
  if (!comment) throw new Error('An insert returned no row');
  await recordMentions(op, { ideaId, commentId: comment.id }, body);
  return {
    ...created,
    id: comment.id,
    author_id: author.id,
    author_name: author.name,
    edited_at: null,
    is_official: isOfficial,
  };
}

export type CommentView = RowOf<typeof selectComments>;

/**
 * The name that cursors contain for the sort order of comments. Comments are sorted by id, because later comments have
 * larger ids.
 */
export const commentSort = 'oldest';

/**
 * Selects the comments of an account with their authors. The SQL aliases are `c` for a comment and `u` for its author.
 */
function commentViews(db: Kysely<Tables>, accountId: Expression<number>) {
  return db
    .selectFrom('comments as c')
    .innerJoin('users as u', 'u.id', 'c.author_id')
    .select(['c.id', 'c.idea_id', 'c.body', 'c.author_id', 'u.name as author_name'])
    .select(['c.created_at', 'c.edited_at', 'c.is_official'])
    .where('c.account_id', '=', accountId);
}

interface PageOfComments {
  accountId: number;
  ideaId: number;
  afterId: number;
  offset: number;
  limit: number;
}

const selectComments = query('select_comments', (db, $: Arguments<PageOfComments>) => pageOfComments(db, $));

function pageOfComments(db: Kysely<Tables>, $: Arguments<PageOfComments>) {
  return commentViews(db, $.accountId)
    .where('c.idea_id', '=', $.ideaId)
    .where('c.id', '>', $.afterId)
    .orderBy('c.id')
    .offset($.offset)
    .limit($.limit);
}

/** Lists an idea's comments, oldest first. Throws not_found if the reader may not see the idea. */
export async function listComments(op: ReadOperation, ideaId: number, place: Place): Promise<Page<CommentView>> {
  if (!(await readIdea(op, ideaId))) throw new DomainError('not_found');
  return cutComments(await op.query(selectComments, pageAt(op, ideaId, place)), place);
}

function pageAt({ actor: { accountId } }: ReadOperation, ideaId: number, place: Place): PageOfComments {
  return { accountId, ideaId, afterId: place.cursor?.id ?? 0, offset: place.offset, limit: place.perPage + 1 };
}

function cutComments<Comment extends CommentView>(rows: Comment[], place: Place): Page<Comment> {
  return cutPage(rows, place, comment => ({ sort: commentSort, key: 0, id: comment.id }));
}

const selectIdsUpTo = query(
  'select_comment_ids_up_to',
  (db, $: Arguments<{ accountId: number; ideaId: number; commentId: number; limit: number }>) =>
    db
      .selectFrom('comments as c')
      .select('c.id')
      .where(c => c.and({ 'c.account_id': $.accountId, 'c.idea_id': $.ideaId }))
      .where('c.id', '<=', $.commentId)
      .orderBy('c.id', 'desc')
      .limit($.limit),
);

/**
 * Finds the place of a page that contains a comment. The page ends with this comment, or is the first page. Returns the
 * first page if the idea has no such comment.
 */
export async function findPlaceOf(
  op: ReadOperation,
  { ideaId, commentId }: { ideaId: number; commentId: number },
  perPage: number,
): Promise<Place> {
  const { accountId } = op.actor;
  const rows = await op.query(selectIdsUpTo, { accountId, ideaId, commentId, limit: perPage + 1 });
  const previous = rows[0]?.id === commentId ? rows[perPage] : undefined;
  const cursor = previous && { sort: commentSort, key: 0, id: previous.id };
  return { perPage, page: cursor ? null : 1, offset: 0, cursor };
}

/** Reads a comment of an idea. Throws not_found if the reader may not see the idea. */
export async function readComment(op: ReadOperation, ideaId: number, commentId: number): Promise<CommentView> {
  const place = { perPage: 1, page: null, offset: 0, cursor: { sort: commentSort, key: 0, id: commentId - 1 } };
  const { rows } = await listComments(op, ideaId, place);
  const [comment] = rows;
  if (comment?.id !== commentId) throw new DomainError('not_found');
  return comment;
}

const selectReplies = query(
  'select_official_replies',
  (db, $: Arguments<{ accountId: number; ideaIds: readonly number[] }>) =>
    commentViews(db, $.accountId)
      .where(c => c('c.idea_id', '=', c.fn.any($.ideaIds)))
      .where('c.is_official', '=', true)
      .distinctOn('c.idea_id')
      .orderBy('c.idea_id')
      .orderBy('c.id', 'desc'),
);

/** Reads the newest official reply of each idea. The caller has checked that the reader may see the ideas. */
export async function readReplies(op: ReadOperation, ideaIds: readonly number[]): Promise<Map<number, CommentView>> {
  const replies = await op.query(selectReplies, { accountId: op.actor.accountId, ideaIds });
  return new Map(replies.map(reply => [reply.idea_id, reply]));
}

/** A comment with what the page of its idea shows of the author. */
export type ShownComment = RowOf<typeof selectShownComments>;

const selectShownComments = query('select_shown_comments', (db, $: Arguments<PageOfComments>) =>
  pageOfComments(db, $).select(shownAuthor(db, $.accountId)),
);

const selectShownReply = query('select_shown_reply', (db, $: Arguments<{ accountId: number; ideaId: number }>) =>
  commentViews(db, $.accountId)
    .select(shownAuthor(db, $.accountId))
    .where('c.idea_id', '=', $.ideaId)
    .where('c.is_official', '=', true)
    .orderBy('c.id', 'desc')
    .limit(1),
);

/**
 * Reads the comments of an idea for its page, oldest first, and its newest official reply. The caller checks that the
 * reader may see the idea.
 */
export async function readDiscussion(
  op: ReadOperation,
  ideaId: number,
  place: Place,
): Promise<{ comments: Page<ShownComment>; reply: ShownComment | undefined }> {
  const comments = cutComments(await op.query(selectShownComments, pageAt(op, ideaId, place)), place);
  const hasAll = place.cursor === undefined && place.offset === 0 && comments.nextCursor === null;
  if (hasAll) return { comments, reply: comments.rows.findLast(({ is_official }) => is_official) };
  const [reply] = await op.query(selectShownReply, { accountId: op.actor.accountId, ideaId });
  return { comments, reply };
}

export function presentComment(comment: CommentView) {
  const { id, idea_id, body, author_id, author_name, created_at, edited_at, is_official } = comment;
  return {
    id,
    idea_id,
    body,
    author: { id: author_id, name: author_name },
    created_at: presentTime(created_at),
    updated_at: presentTime(edited_at ?? created_at),
    official: is_official,
  };
}
