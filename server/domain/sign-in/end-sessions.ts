import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

const deleteOne = query('delete_session', (db, $: Arguments<{ tokenHash: Buffer }>) =>
  db.deleteFrom('sessions').where('token_hash', '=', $.tokenHash).returning('user_id'),
);

/** Signs out. Returns whether the session existed. */
export async function endSession(db: Queryable, tokenHash: Buffer): Promise<boolean> {
  return (await db.query(deleteOne, { tokenHash })).length > 0;
}

const deleteAll = query('delete_sessions_of_user', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('sessions').where('user_id', '=', $.userId).returning('user_id'),
);

/** Signs a user out everywhere. Returns the number of ended sessions. */
export async function endAllSessions(db: Queryable, userId: number): Promise<number> {
  return (await db.query(deleteAll, { userId })).length;
}
