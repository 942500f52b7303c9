import type { Database } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { maySignIn } from './may-sign-in.ts';
import type { Passwords } from './passwords.ts';
import { type SessionTerms, startSession } from './start-session.ts';

export interface SignInAttempt {
  email: string;
  password: string;
}

export type SignInOutcome =
  | { userId: number; token: string }
  | { refused: 'unknown_user' | 'no_password' | 'wrong_password' | 'blocked'; userId?: number };

interface Candidate {
  id: number;
  may_sign_in: boolean;
  credential: string | null;
  set_at: string | null;
}

const selectCandidate = statement<Candidate>(
  'select_sign_in_candidate',
  `select u.id, ${maySignIn} as may_sign_in, m.credential, m.updated_at as set_at
  from users u left join sign_in_methods m on m.user_id = u.id and m.kind = 'password'
  where u.canonical_email = $1`,
);

/**
 * Signs somebody in by address and password, in a new session. Whoever is refused costs the same: one comparison, whether
 * there is such a user, a password, or neither. The reason is for the audit log, and never for the client.
 */
export async function signIn(
  { database, passwords }: { database: Database; passwords: Passwords },
  { email, password }: SignInAttempt,
  terms: SessionTerms,
): Promise<SignInOutcome> {
  const [user] = await database.query(selectCandidate, [canonicalAddress(email)]);
  const { isRight, isOutdated } = await passwords.verify(user?.credential ?? undefined, password);
  if (!user) return { refused: 'unknown_user' };
  if (user.credential === null) return { refused: 'no_password', userId: user.id };
  if (!isRight) return { refused: 'wrong_password', userId: user.id };
  const token = user.may_sign_in ? await startSession(database, user, terms) : undefined;
  if (token === undefined) return { refused: 'blocked', userId: user.id };
  if (isOutdated) await rehash({ database, passwords }, user, password);
  return { userId: user.id, token };
}

/** The password is the same, and so is the time at which it was set. */
const updateCredential = statement<never>(
  'update_credential_costs',
  `update sign_in_methods set credential = $3 where user_id = $1 and kind = 'password' and credential = $2`,
);

async function rehash(
  { database, passwords }: { database: Database; passwords: Passwords },
  { id, credential }: Candidate,
  password: string,
): Promise<void> {
  await database.query(updateCredential, [id, credential, await passwords.hash(password)]);
}
