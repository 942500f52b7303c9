import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { type Challenge, makeChallenge } from './challenge.ts';
import type { ProvenUser } from './proven-user.ts';
import { lockProvenUser, openSession, type SessionTerms } from './session.ts';

/**
 * The result of the first step of a sign-in. `token` is the token of a new session. A user with a second factor gets no
 * session yet: `challenge` is the sign-in that waits for a code.
 */
export type StartedSession = { token: string } | { challenge: Challenge };

const selectFactor = query('select_has_second_factor', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('second_factors').select('user_id').where('user_id', '=', $.userId),
);

/**
 * Starts a session for a user who has proven their identity by the password, a mailed link or a provider. If the user
 * has a second factor, starts a sign-in that waits for a code instead. If `hasSecondFactor` is true, the user has
 * already entered a code, and the session starts. Returns undefined if the password has changed since the server
 * checked it, or if the user may not sign in.
 *
 * Call this function in a transaction. It reads the second factor only after it has locked the user. So it also sees a
 * second factor that another transaction has just turned on.
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
