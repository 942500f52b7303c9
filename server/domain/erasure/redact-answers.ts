import { type ExpressionBuilder, sql } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
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
 * Reads a batch of stored responses of the accounts up to `lastAccountId`, in the order of the primary key. An erasure
 * of a user reads all accounts, and a change of an idea reads one account.
 *
 * No index finds the responses that contain a text. So `mayShow` tells whether a response contains the text `mention`,
 * and the caller skips all other responses. A response that replaceInAnswers has changed has a space after each colon.
 * The comparison ignores this space.
 */
const selectAnswers = query(
  'select_answers_that_may_show',
  (db, $: Arguments<AnswerKey & { lastAccountId: number; mention: string; batchSize: number }>) =>
    db
      .selectFrom('idempotency_keys')
      .select(['account_id as accountId', 'token_id as tokenId', 'path', 'key'])
      .select(sql<boolean>`position(${$.mention} in replace(body, '": ', '":')) > 0`.as('mayShow'))
      .where(k =>
        k(k.refTuple('account_id', 'token_id', 'path', 'key'), '>', k.tuple($.accountId, $.tokenId, $.path, $.key)),
      )
      .where('account_id', '<=', $.lastAccountId)
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
 * Replaces an erased user by the placeholder user in the stored responses to requests with an Idempotency-Key. Returns
 * the number of changed responses. The function keeps the responses, because a repeated request must not run again.
 */
export async function redactAnswers(
  database: Database,
  userId: number,
  placeholder: ShownPerson,
  batchSize: number,
): Promise<number> {
  const rewrite = async (json: string) => redactPerson(json, userId, placeholder);
  const accounts = { first: 1, last: Number.MAX_SAFE_INTEGER };
  return rewriteAnswers(database, accounts, { mention: `"id":${userId}`, rewrite, batchSize });
}

interface Rewriting {
  /** A text that every response contains if `rewrite` may have to change it. The search for this text is fast. */
  mention: string;
  /** Returns the new text of a response, or undefined if the response does not change. May use the transaction. */
  rewrite(json: string, transaction: Queryable): Promise<string | undefined>;
  batchSize: number;
}

/**
 * Rewrites the stored responses of the accounts whose ids are between `first` and `last`. Returns the number of changed
 * responses.
 */
export async function rewriteAnswers(
  database: Database,
  accounts: { first: number; last: number },
  { mention, rewrite, batchSize }: Rewriting,
): Promise<number> {
  const lastAccountId = accounts.last;
  let count = 0;
  let after: AnswerKey = { accountId: accounts.first, tokenId: 0, path: '', key: '' };
  for (;;) {
    const answers = await database.query(selectAnswers, { ...after, lastAccountId, mention, batchSize });
    for (const { mayShow, ...key } of answers) {
      if (mayShow && (await rewriteAnswer(database, key, rewrite))) count++;
    }
    const last = answers.at(-1);
    if (!last) return count;
    after = last;
  }
}

/** Locks the response. Otherwise a parallel rewriting could overwrite the new text with the old text. */
function rewriteAnswer(database: Database, key: AnswerKey, rewrite: Rewriting['rewrite']): Promise<boolean> {
  return database.transaction(async transaction => {
    const [answer] = await transaction.query(lockAnswer, key);
    const rewritten = answer && (await rewrite(answer.body, transaction));
    if (rewritten === undefined) return false;
    await transaction.query(writeAnswer, { ...key, body: rewritten });
    return true;
  });
}
