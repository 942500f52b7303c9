import type { Database } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import { redactPerson, type ShownPerson } from './redact-person.ts';

interface StoredAnswer {
  token_id: number;
  path: string;
  key: string;
  /** False where the text surely does not show the user, as nearly everywhere. */
  may_show: boolean;
}

/** In the order of the primary key. */
const selectAnswers = plannedStatement<StoredAnswer>(`
  select token_id, path, key, position($4 in body) > 0 as may_show
  from idempotency_keys
  where (token_id, path, key) > ($1, $2, $3)
  order by token_id, path, key
  limit $5`);

const ofAnswer = 'where token_id = $1 and path = $2 and key = $3';
const lockAnswer = plannedStatement<{ body: string }>(`select body from idempotency_keys ${ofAnswer} for update`);
const writeAnswer = plannedStatement<never>(`update idempotency_keys set body = $4 ${ofAnswer}`);

/**
 * Puts the placeholder in a user's place in the answers that are kept for a day to be replayed, and answers in how many.
 * They are rewritten, and not removed: a request that is sent again must still not be done again.
 */
export async function redactAnswers(
  database: Database,
  userId: number,
  placeholder: ShownPerson,
  batchSize: number,
): Promise<number> {
  let count = 0;
  let after = { token_id: 0, path: '', key: '' };
  for (;;) {
    const answers = await database.query(selectAnswers, [
      after.token_id,
      after.path,
      after.key,
      `"id":${userId}`,
      batchSize,
    ]);
    for (const answer of answers) {
      if (answer.may_show && (await redactAnswer(database, answer, userId, placeholder))) count++;
    }
    const last = answers.at(-1);
    if (!last) return count;
    after = last;
  }
}

/** Under a lock, so that of two runs for two users neither brings back what the other has taken out. */
function redactAnswer(
  database: Database,
  { token_id, path, key }: StoredAnswer,
  userId: number,
  placeholder: ShownPerson,
): Promise<boolean> {
  return database.transaction(async ({ query }) => {
    const [answer] = await query(lockAnswer, [token_id, path, key]);
    const redacted = answer && redactPerson(answer.body, userId, placeholder);
    if (redacted === undefined) return false;
    await query(writeAnswer, [token_id, path, key, redacted]);
    return true;
  });
}
