import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { redactPerson, type ShownPerson } from './placeholder.ts';

interface AnswerKey {
  accountId: number;
  tokenId: number;
  path: string;
  key: string;
}

/**
 * Reads the answers of all accounts in the order of the primary key: no index finds those that show a person. For
 * nearly all of them may_show is false, and the text certainly does not show the person.
 */
const selectAnswers = query(
  'select_answers_that_may_show',
  (db, $: Arguments<AnswerKey & { mention: string; batchSize: number }>) =>
    db
      .selectFrom('idempotency_keys')
      .select(['account_id', 'token_id', 'path', 'key'])
      .select(sql<boolean>`position(${$.mention} in body) > 0`.as('may_show'))
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

const lockAnswer = query('lock_answer', (db, $: Arguments<AnswerKey>) =>
  db
    .selectFrom('idempotency_keys')
    .select('body')
    .where('account_id', '=', $.accountId)
    .where('token_id', '=', $.tokenId)
    .where('path', '=', $.path)
    .where('key', '=', $.key)
    .forUpdate(),
);

const writeAnswer = query('write_answer', (db, $: Arguments<AnswerKey & { body: string }>) =>
  db
    .updateTable('idempotency_keys')
    .set({ body: $.body })
    .where('account_id', '=', $.accountId)
    .where('token_id', '=', $.tokenId)
    .where('path', '=', $.path)
    .where('key', '=', $.key),
);

/**
 * Replaces a user by the placeholder in the answers that are kept for a day to be replayed. Returns the number of
 * changed answers. They are not removed, because a repeated request must not run again.
 */
export async function redactAnswers(
  database: Database,
  userId: number,
  placeholder: ShownPerson,
  batchSize: number,
): Promise<number> {
  const mention = `"id":${userId}`;
  let count = 0;
  let after: AnswerKey = { accountId: 0, tokenId: 0, path: '', key: '' };
  for (;;) {
    const answers = await database.query(selectAnswers, { ...after, mention, batchSize });
    for (const answer of answers) {
      if (answer.may_show && (await redactAnswer(database, keyOf(answer), userId, placeholder))) count++;
    }
    const last = answers.at(-1);
    if (!last) return count;
    after = keyOf(last);
  }
}

function keyOf({ account_id: accountId, token_id: tokenId, path, key }: RowOf<typeof selectAnswers>): AnswerKey {
  return { accountId, tokenId, path, key };
}

/** Locks the answer: a run for another user would otherwise write back the text that shows this one. */
function redactAnswer(
  database: Database,
  answerKey: AnswerKey,
  userId: number,
  placeholder: ShownPerson,
): Promise<boolean> {
  return database.transaction(async ({ query }) => {
    const [answer] = await query(lockAnswer, answerKey);
    const redacted = answer && redactPerson(answer.body, userId, placeholder);
    if (redacted === undefined) return false;
    await query(writeAnswer, { ...answerKey, body: redacted });
    return true;
  });
}
