import { sql } from 'kysely';
import { type Arguments, query } from '../database/query.ts';
import type { WriteOperation } from './operation.ts';

/** A comment or a note with a new text. */
interface NewText {
  kind: 'comment' | 'note';
  id: number;
  ideaId: number;
  authorId: number;
  text: string;
}

/** A comment and a note can have the same id. Only the response with a comment has the field `official`. */
const rewriteAnswer = query(
  'replace_text_in_answer',
  (db, $: Arguments<Omit<NewText, 'kind'> & { accountId: number; isComment: boolean }>) =>
    db
      .updateTable('idempotency_keys as k')
      .set({ body: sql<string>`jsonb_set(k.body::jsonb, '{body}', to_jsonb(${$.text}::text))::text` })
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
      .where(sql<boolean>`k.body::jsonb @> jsonb_build_object('id', ${$.id}::bigint, 'idea_id', ${$.ideaId}::bigint)`)
      .where(sql<boolean>`jsonb_exists(k.body::jsonb, 'official') = ${$.isComment}::boolean`),
);

/**
 * Replaces the text of an edited or deleted comment or note in the stored response to the request that created it. The
 * server stores this response if the request had an Idempotency-Key.
 */
export async function replaceInAnswers(op: WriteOperation, { kind, ...newText }: NewText): Promise<void> {
  await op.query(rewriteAnswer, { accountId: op.actor.accountId, ...newText, isComment: kind === 'comment' });
}
