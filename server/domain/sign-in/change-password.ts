import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { maySignIn } from './may-sign-in.ts';
import { setPassword } from './set-password.ts';
import { type ProvenUser, type SessionTerms, startSession } from './start-session.ts';

/** The user before the password, as whoever begins the erasure locks them. */
const lockPassword = statement<{ id: number }>(
  'lock_own_password',
  `select u.id from users u join sign_in_methods m on m.user_id = u.id and m.kind = 'password'
  where u.id = $1 and m.updated_at = $2 and ${maySignIn}
  for no key update of u, m`,
);

/**
 * Sets another password, to the hash of one that was checked, for somebody who gave the one that they have. Every session
 * ends, and whoever changed it goes on in a new one, whose token is the answer: a session that somebody else may know is
 * of no use any more. Of two who change it at once, the second is refused.
 */
export async function changePassword(
  admin: Administration,
  user: ProvenUser,
  credential: string,
  terms: Omit<SessionTerms, 'previous'>,
): Promise<string> {
  const [locked] = await admin.query(lockPassword, [user.id, user.set_at]);
  const set_at = locked && (await setPassword(admin, user.id, credential));
  const token = set_at && (await startSession(admin, { id: user.id, set_at }, { ...terms, previous: undefined }));
  if (token) return token;
  throw new AdministrationError('conflict', 'The password was changed meanwhile: sign in with the new one');
}
