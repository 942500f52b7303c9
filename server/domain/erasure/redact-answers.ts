import { type ExpressionBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { redactPerson, type ShownPerson } from './placeholder.ts';

interface AnswerKey {
  accountId: number;
  tokenId: number;
  path: string;
  key: string;
}

/**
 * Reads the stored responses of all accounts in the order of the primary key. No index finds the responses that show a
 * user. The column mayShow is false for a response that cannot show the user. This is so for nearly all responses.
 */
const selectAnswers = query(
  'select_answers_that_may_show',
  (db, $: Arguments<AnswerKey & { mention: string; batchSize: number }>) =>
    db
      .selectFrom('idempotency_keys')
      .select(['account_id as accountId', 'token_id as tokenId', 'path', 'key'])
      .select(sql<boolean>`position(${$.mention} in body) > 0`.as('mayShow'))
      .where(k =>
        k(k.refTuple('account_id', 'token_id', 'path', 'key'), '>', k.tuple($.accountId, $.tokenId, $.path, $.key)),
      )
      .orderBy('account_id')
      .orderBy('token_id')
      .orderBy('path')
      .orderBy('key')
      .limit($.batchSize),
  { isPrepared: false },
);

function hasKey(k: ExpressionBuilder<Tables, 'idempotency_keys'>, $: Arguments<AnswerKey>) {
  return k.and({ account_id: $.accountId, token_id: $.tokenId, path: $.path, key: $.key });
}

const lockAnswer = query('lock_answer', (db, $: Arguments<AnswerKey>) =>
  db
    .selectFrom('idempotency_keys')
    .select('body')
    .where(k => hasKey(k, $))
    .forUpdate(),
);

const writeAnswer = query('write_answer', (db, $: Arguments<AnswerKey & { body: string }>) =>
  db
    .updateTable('idempotency_keys')
    .set({ body: $.body })
    .where(k => hasKey(k, $)),
);

/**
 * Replaces a user by the placeholder in the stored responses to requests with an Idempotency-Key. Returns the number of
 * changed responses. The function keeps the responses, because a repeated request must not run again.
 */
export async function redactAnswers(
  database: Database,
  userId: number,
  placeholder: ShownPerson,
  batchSize: number,
): Promise<number> {
  let count = 0;
  let after: AnswerKey = { accountId: 0, tokenId: 0, path: '', key: '' };
  for (;;) {
    const answers = await database.query(selectAnswers, { ...after, mention: `"id":${userId}`, batchSize });
    for (const { mayShow, ...key } of answers) {
      if (mayShow && (await redactAnswer(database, key, userId, placeholder))) count++;
    }
    const last = answers.at(-1);
    if (!last) return count;
    after = last;
  }
}

/** Without the lock, a parallel erasure of another user could write back an old response that still shows this user. */
function redactAnswer(database: Database, key: AnswerKey, userId: number, placeholder: ShownPerson): Promise<boolean> {
  return database.transaction(async ({ query }) => {
    const [answer] = await query(lockAnswer, key);
    const redacted = answer && redactPerson(answer.body, userId, placeholder);
    if (redacted === undefined) return false;
    await query(writeAnswer, { ...key, body: redacted });
    return true;
  });
}
