import { type Arguments, query } from '../../database/query.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { maySignIn } from './may-sign-in.ts';
import { setPassword } from './set-password.ts';
import { type ProvenUser, type SessionTerms, startSession } from './start-session.ts';

/** Locks the user before the password, in the order in which an erasure locks them. */
const lockPassword = query('lock_own_password', (db, $: Arguments<{ userId: number; setAt: string | null }>) =>
  db
    .selectFrom('users as u')
    .innerJoin('sign_in_methods as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.kind', '=', 'password'))
    .select('u.id')
    .where('u.id', '=', $.userId)
    .where('m.updated_at', '=', $.setAt)
    .where(maySignIn)
    .forNoKeyUpdate(['u', 'm']),
);

/**
 * Replaces the password of a user who has given the current one. All sessions end, because somebody else may know their
 * tokens. Returns the token of a new session. The second of two parallel changes is refused.
 */
export async function changePassword(
  admin: Administration,
  user: ProvenUser,
  credential: string,
  terms: Omit<SessionTerms, 'previous'>,
): Promise<string> {
  const [locked] = await admin.query(lockPassword, { userId: user.id, setAt: user.set_at });
  const set_at = locked && (await setPassword(admin, user.id, credential));
  const token = set_at && (await startSession(admin, { id: user.id, set_at }, { ...terms, previous: undefined }));
  if (token) return token;
  throw new AdministrationError('conflict', 'The password was changed meanwhile: sign in with the new one');
}
