import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

const deleteOne = statement<{ user_id: number }>(
  'delete_session',
  'delete from sessions where token_hash = $1 returning user_id',
);

/** Signs out. Answers whether there was such a session. */
export async function endSession(db: Queryable, tokenHash: Buffer): Promise<boolean> {
  return (await db.query(deleteOne, [tokenHash])).length > 0;
}

const deleteAll = statement<{ count: number }>(
  'delete_sessions_of_user',
  `with ended as (delete from sessions where user_id = $1 returning 1)
  select count(*)::int as count from ended`,
);

/** Signs a user out everywhere. Answers in how many sessions they were signed in. */
export async function endAllSessions(db: Queryable, userId: number): Promise<number> {
  const [ended] = await db.query(deleteAll, [userId]);
  return ended?.count ?? 0;
}
