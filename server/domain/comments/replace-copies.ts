import { type RawBuilder, sql } from 'kysely';
import { type Arguments, query } from '../../database/query.ts';
import { withholdResponses } from '../erasure/redact-events.ts';
import { textInEvent } from '../events/recorded-event.ts';
import type { WriteOperation } from '../operation.ts';

interface Replacement {
  ideaId: number;
  commentId: number;
  authorId: number;
  text: string;
}

type OfAccount = Replacement & { accountId: number };

/** Replaces the text at a path of a JSON column. */
function withText(column: 'e.data' | 'e.body' | 'k.body', path: string, text: RawBuilder<string>) {
  return sql`jsonb_set(${sql.ref(column)}::jsonb, ${sql.lit(path)}, to_jsonb(${text}::text))`;
}

/**
 * Replaces the text in the event of a comment. Pages, mails, chat messages, extensions and webhook deliveries read the
 * event only when they are shown or sent. So later ones have the new text.
 */
const rewriteEvent = query('replace_comment_in_event', (db, $: Arguments<OfAccount>) =>
  db
    .updateTable('events as e')
    .set({
      data: sql`${withText('e.data', '{comment,body}', $.text)}`,
      body: sql`${withText('e.body', '{data,comment,body}', $.text)}::json`,
    })
    .where(e => e.and({ 'e.account_id': $.accountId, 'e.idea_id': $.ideaId, 'e.type': 'comment.created' }))
    .where(textInEvent('comment', 'id'), '=', sql<string>`${$.commentId}::bigint::text`)
    .returning('e.id'),
);

/** Replaces the text in the stored response to the request that created the comment, if it had an Idempotency-Key. */
const rewriteAnswer = query('replace_comment_in_answer', (db, $: Arguments<OfAccount>) =>
  db
    .updateTable('idempotency_keys as k')
    .set({ body: sql<string>`${withText('k.body', '{body}', $.text)}::text` })
    .where('k.account_id', '=', $.accountId)
    .where(k =>
      k(
        'k.token_id',
        '=',
        sql<number>`any (array(${k
          .selectFrom('api_tokens as t')
          .select('t.id')
          .where(t => t.and({ 't.account_id': $.accountId, 't.issuer_id': $.authorId }))}))`,
      ),
    )
    .where(
      sql<boolean>`k.body::jsonb @> jsonb_build_object('id', ${$.commentId}::bigint, 'idea_id', ${$.ideaId}::bigint)`,
    ),
);

/**
 * Replaces the text of an edited or deleted comment in its copies. Also removes the responses of webhook receivers to
 * its event, because a response may repeat the text. Receivers keep what they received before.
 *
 * The caller holds the lock of the idea. A worker that stores one response of a receiver holds the lock of its
 * delivery, but waits for no lock of this transaction. A worker that stores several responses at once may wait for one.
 * PostgreSQL may then end one of the two transactions as a deadlock, and the server retries it.
 */
export async function replaceCopies(op: WriteOperation, replacement: Replacement): Promise<void> {
  const { accountId } = op.actor;
  const events = await op.query(rewriteEvent, { accountId, ...replacement });
  await withholdResponses(
    op,
    accountId,
    events.map(({ id }) => id),
  );
  await op.query(rewriteAnswer, { accountId, ...replacement });
}
