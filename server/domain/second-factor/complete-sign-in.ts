import type { Administration } from '../administration.ts';
import { type OpenChallenge, takeChallenge } from '../sign-in/challenge.ts';
import { lockProvenUser, openSession, type SessionTerms } from '../sign-in/session.ts';
import { notify, readSecondFactor } from './second-factor.ts';
import type { SecondFactorKeys } from './second-factor-keys.ts';
import { methodOf, useCode } from './use-code.ts';

type Outcome = { token: string } | { refused: 'wrong_code' | 'expired' };

/**
 * Completes a sign-in with a code, and starts the session. The outcome is `expired` in these cases:
 * - The time limit for entering the code has passed.
 * - The password has changed, or the user may no longer sign in.
 * - Another request has already completed the sign-in.
 */
export async function completeSignIn(
  admin: Administration,
  keys: SecondFactorKeys,
  { id: userId, set_at, boundTo, tokenHash }: OpenChallenge,
  code: string,
  terms: SessionTerms,
): Promise<Outcome> {
  // Locks the user before the row of the sign-in that waits for a code. A password change takes the locks in the same
  // order, which prevents deadlocks.
  if (!(await lockProvenUser(admin, { id: userId, set_at }))) return { refused: 'expired' };
  if (!(await useCode(admin, keys, { userId, code, now: admin.now }))) return { refused: 'wrong_code' };
  if (!(await takeChallenge(admin, tokenHash, admin.now))) return { refused: 'expired' };
  if (methodOf(code) === 'recovery_code') {
    const state = await readSecondFactor(admin, userId);
    await notify(admin, userId, 'recovery_used');
    admin.audit.record('second_factor.recovery_used', { user_id: userId, codes_left: state?.codes_left ?? 0 });
  }
  return { token: await openSession(admin, { userId, boundTo, hasSecondFactor: true }, terms) };
}
