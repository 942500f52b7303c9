import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { readBlockingAccounts } from './blocking-accounts.ts';
import type { Passwords } from './passwords.ts';
import type { ProvenUser } from './proven-user.ts';
import { maySignIn, type SessionTerms } from './session.ts';
import { type StartedSession, startSession } from './start-session.ts';

interface SignInAttempt {
  email: string;
  password: string;
}

type SignInOutcome =
  | ({ userId: number } & StartedSession)
  | { refused: 'unknown_user' | 'no_password' | 'wrong_password'; userId?: number }
  | { refused: 'blocked'; userId: number; blockedIn: string[] };

const selectCandidate = query('select_sign_in_candidate', (db, $: Arguments<{ email: string }>) =>
  db
    .selectFrom('users as u')
    .leftJoin('sign_in_methods as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.kind', '=', 'password'))
    .select(['u.id', 'm.credential', 'm.updated_at as set_at'])
    .select(u => maySignIn(u).as('may_sign_in'))
    .where('u.canonical_email', '=', $.email),
);

/**
 * Signs a user in with e-mail address and password. Starts a new session, or asks a user with a second factor for a
 * code. Every failed attempt compares one password hash, even if the user or the password does not exist. So the response
 * time does not reveal whether the user exists.
 *
 * The reason for a failure is only for the audit log, with one exception: a person who entered the right password learns
 * which accounts block the user. `blockedIn` is empty if the user is being erased, or if the password has just changed.
 */
export async function signIn(
  { database, passwords }: { database: Database; passwords: Passwords },
  { email, password }: SignInAttempt,
  terms: SessionTerms,
): Promise<SignInOutcome> {
  const [user] = await database.query(selectCandidate, { email: canonicalAddress(email) });
  const { isRight, isOutdated } = await passwords.verify(user?.credential ?? undefined, password);
  if (!user) return { refused: 'unknown_user' };
  if (user.credential === null) return { refused: 'no_password', userId: user.id };
  if (!isRight) return { refused: 'wrong_password', userId: user.id };
  const started = user.may_sign_in ? await database.transaction(tx => startSession(tx, user, terms)) : undefined;
  if (!started)
    return { refused: 'blocked', userId: user.id, blockedIn: await readBlockingAccounts(database, user.id) };
  if (isOutdated) {
    const replacement = await passwords.hash(password);
    await database.query(updateCredential, { userId: user.id, credential: user.credential, replacement });
  }
  return { userId: user.id, ...started };
}

/**
 * Replaces the hash of a password that was hashed with outdated cost settings. updated_at stays the same, because the
 * password has not changed.
 */
const updateCredential = query(
  'update_credential_costs',
  (db, $: Arguments<{ userId: number; credential: string; replacement: string }>) =>
    db
      .updateTable('sign_in_methods')
      .set({ credential: $.replacement })
      .where(m => m.and({ user_id: $.userId, kind: 'password', credential: $.credential })),
);

const selectOwnPassword = query('select_own_password', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('sign_in_methods')
    .select(['credential', 'updated_at as set_at'])
    .where(m => m.and({ user_id: $.userId, kind: 'password' })),
);

/**
 * Checks the password of a signed-in user before a dangerous action, because another person may be using an unattended
 * browser. Returns undefined if the password is wrong or the user has no password.
 */
export async function checkOwnPassword(
  { database, passwords }: { database: Database; passwords: Passwords },
  userId: number,
  password: string,
): Promise<ProvenUser | undefined> {
  const [method] = await database.query(selectOwnPassword, { userId });
  const { isRight } = await passwords.verify(method?.credential, password);
  return method && isRight ? { id: userId, set_at: method.set_at } : undefined;
}
