import { sql } from 'kysely';
import { type Arguments, query } from '../../database/query.ts';
import type { ReadOperation, WriteOperation } from '../operation.ts';
import { findMentions } from './find-mentions.ts';

/**
 * Identifies the body of an idea or of a comment. If `commentId` is null, this is the idea's body. Otherwise it is the
 * body of the comment with this id.
 */
interface TextOfIdea {
  ideaId: number;
  commentId: number | null;
}

interface NewMentions extends TextOfIdea {
  accountId: number;
  userIds: readonly number[];
  names: readonly string[];
  now: Date;
}

const writeMentions = query('write_mentions', (db, $: Arguments<NewMentions>) =>
  db
    .insertInto('mentions')
    .columns(['account_id', 'idea_id', 'comment_id', 'user_id', 'name', 'created_at'])
    .expression(from =>
      from
        .selectFrom(
          sql<{ user_id: number; name: string }>`unnest(${$.userIds}::bigint[], ${$.names}::text[])`.as<'m'>(
            sql`m(user_id, name)`,
          ),
        )
        .select([$.accountId.as('account_id'), $.ideaId.as('idea_id'), $.commentId.as('comment_id')])
        .select(['m.user_id', 'm.name', $.now.as('created_at')]),
    )
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'idea_id', 'comment_id', 'user_id'])
        .doUpdateSet(row => ({ name: row.ref('excluded.name') })),
    ),
);

const removeOthers = query(
  'remove_other_mentions',
  (db, $: Arguments<TextOfIdea & { accountId: number; userIds: readonly number[] }>) =>
    db
      .deleteFrom('mentions')
      .where(m => m.and({ account_id: $.accountId, idea_id: $.ideaId }))
      .where('comment_id', 'is not distinct from', $.commentId)
      .where(m => m.not(m('user_id', '=', m.fn.any($.userIds)))),
);

/**
 * Stores the members that a new text mentions, except the text's author. When the server processes the event of the new
 * text, it notifies these members. For a text without @, this function runs no SQL statement.
 */
export async function recordMentions(op: WriteOperation, text: TextOfIdea, body: string): Promise<void> {
  const mentions = body.includes('@') ? await findOthers(op, op.actor.userId, body) : [];
  if (mentions.length > 0) await op.query(writeMentions, valuesOf(op, text, mentions));
}

/**
 * Updates the stored mentions of an edited text. Returns the ids of the members that the new text mentions and the old
 * text does not mention.
 */
export async function replaceMentions(
  op: WriteOperation,
  { authorId, ...text }: TextOfIdea & { authorId: number },
  bodies: { old: string; new: string },
): Promise<number[]> {
  if (!bodies.old.includes('@') && !bodies.new.includes('@')) return [];
  const earlier = await findOthers(op, authorId, bodies.old);
  const mentions = await findOthers(op, authorId, bodies.new);
  const values = valuesOf(op, text, mentions);
  await op.query(removeOthers, values);
  if (mentions.length > 0) await op.query(writeMentions, values);
  return values.userIds.filter(id => !earlier.some(({ userId }) => userId === id));
}

/** Finds the members whom a text mentions, except its author. */
async function findOthers(op: WriteOperation, authorId: number, body: string) {
  const mentions = await findMentions(op, op.actor.accountId, body);
  return mentions.filter(({ userId }) => userId !== authorId);
}

function valuesOf(
  { actor: { accountId }, now }: WriteOperation,
  text: TextOfIdea,
  mentions: Awaited<ReturnType<typeof findOthers>>,
) {
  const userIds = mentions.map(({ userId }) => userId);
  return { accountId, ...text, userIds, names: mentions.map(({ name }) => name), now };
}

const selectMentions = query(
  'select_mentions',
  (db, $: Arguments<{ accountId: number; ideaId: number; commentIds: readonly number[] }>) =>
    db
      .selectFrom('mentions')
      .select(['comment_id', 'name'])
      .where(m => m.and({ account_id: $.accountId, idea_id: $.ideaId }))
      .where(m => m.or([m('comment_id', 'is', null), m('comment_id', '=', m.fn.any($.commentIds))])),
);

/**
 * Reads the names that the texts of an idea mention. Returns a function that takes the id of one of the given comments,
 * or null for the body of the idea. The function returns the names that this text mentions. The caller has checked that
 * the reader may see the idea.
 */
export async function readMentions(
  op: ReadOperation,
  idea: { id: number; body: string },
  comments: readonly { id: number; body: string }[],
): Promise<(commentId: number | null) => string[]> {
  if (![idea, ...comments].some(({ body }) => body.includes('@'))) return () => [];
  const rows = await op.query(selectMentions, {
    accountId: op.actor.accountId,
    ideaId: idea.id,
    commentIds: comments.map(({ id }) => id),
  });
  const names = Map.groupBy(rows, row => row.comment_id);
  return commentId => names.get(commentId)?.map(({ name }) => name) ?? [];
}
