import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { type Challenge, makeChallenge } from './challenge.ts';
import type { ProvenUser } from './proven-user.ts';
import { lockProvenUser, openSession, type SessionTerms } from './session.ts';

/**
 * The result of the first step of a sign-in: the token of a new session. For a user with a second factor, the token of
 * a sign-in that waits for a code.
 */
export type StartedSession = { token: string } | { challenge: Challenge };

const selectFactor = query('select_has_second_factor', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('second_factors').select('user_id').where('user_id', '=', $.userId),
);

/**
 * Starts a session for a user who has proven their identity by the password, a mailed link or a provider. For a user
 * with a second factor, starts a sign-in that waits for a code, unless `hasSecondFactor` says that the user has entered
 * a code. Returns undefined if the password has changed since it was compared, or if the user may not sign in.
 *
 * Call this in a transaction. The statement after the lock then sees a second factor that another transaction has just
 * turned on.
 */
export async function startSession(
  db: Queryable,
  user: ProvenUser,
  terms: SessionTerms,
  { hasSecondFactor = false } = {},
): Promise<StartedSession | undefined> {
  if (!(await lockProvenUser(db, user))) return undefined;
  const needsCode = (await db.query(selectFactor, { userId: user.id })).length > 0;
  if (needsCode && !hasSecondFactor) return { challenge: await makeChallenge(db, user, terms.now) };
  return {
    token: await openSession(db, { userId: user.id, boundTo: user.boundTo, hasSecondFactor: needsCode }, terms),
  };
}
