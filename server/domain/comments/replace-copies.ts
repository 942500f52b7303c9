import { type RawBuilder, sql } from 'kysely';
import { type Arguments, query } from '../../database/query.ts';
import { withholdResponses } from '../erasure/redact-events.ts';
import { commentIdInEvent } from '../events/recorded-event.ts';
import type { WriteOperation } from '../operation.ts';
import { replaceInAnswers } from '../replace-in-answers.ts';

interface Replacement {
  ideaId: number;
  commentId: number;
  authorId: number;
  text: string;
}

type OfAccount = Replacement & { accountId: number };

/** Replaces the text at the given paths of a JSON column. Skips a path if the JSON does not contain it. */
function withText(
  column: 'e.data' | 'e.body',
  paths: readonly string[],
  text: RawBuilder<string>,
): RawBuilder<unknown> {
  return paths.reduce<RawBuilder<unknown>>(
    (json, path) => sql`jsonb_set(${json}, ${sql.lit(path)}, to_jsonb(${text}::text))`,
    sql`${sql.ref(column)}::jsonb`,
  );
}

/**
 * Replaces the text of a comment in the events about the comment. Also replaces the text in the event of a status
 * change if the comment is that event's official reply. Pages, mails, chat messages, extensions and webhooks read an
 * event when they show or send it, so they then use the new text.
 */
const rewriteEvents = query('replace_comment_in_events', (db, $: Arguments<OfAccount>) =>
  db
    .updateTable('events as e')
    .set({
      data: withText('e.data', ['{comment,body}', '{reply,body}'], $.text),
      body: sql`${withText('e.body', ['{data,comment,body}', '{data,reply,body}'], $.text)}::json`,
    })
    .where(e => e.and({ 'e.account_id': $.accountId, 'e.idea_id': $.ideaId }))
    .where('e.type', 'in', ['comment.created', 'comment.updated', 'idea.status_changed'])
    .where(commentIdInEvent, '=', $.commentId)
    .returning('e.id'),
);

/**
 * Replaces the text of an edited or deleted comment in its copies, such as events. Also removes the stored responses of
 * webhook receivers to these events, because a response may repeat the text. Receivers keep the text that they received
 * before.
 *
 * The caller holds the lock of the idea. A worker that stores the responses of several webhooks at once may wait for a
 * lock of this transaction. PostgreSQL may then report a deadlock and cancel one of the two transactions, and the
 * server retries it. A worker that stores only one response never waits for such a lock.
 */
export async function replaceCopies(op: WriteOperation, replacement: Replacement): Promise<void> {
  const { accountId } = op.actor;
  const events = await op.query(rewriteEvents, { accountId, ...replacement });
  await withholdResponses(
    op,
    accountId,
    events.map(({ id }) => id),
  );
  const { commentId, ...rest } = replacement;
  await replaceInAnswers(op, { kind: 'comment', id: commentId, ...rest });
}
