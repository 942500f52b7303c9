import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { endSession } from './end-sessions.ts';
import { maySignIn } from './may-sign-in.ts';
import { makeSecret } from './secret-text.ts';

/** A user whose password was compared, and when that password was set. */
export interface ProvenUser {
  id: number;
  set_at: string | null;
}

export interface SessionTerms {
  now: Date;
  /** The end of the session, however much it is used. */
  expiresAt: Date;
  /** The session that the browser had before: it ends, so that nobody goes on with one that others may know. */
  previous: Buffer | undefined;
}

interface NewSession {
  tokenHash: Buffer;
  userId: number;
  setAt: string | null;
  now: Date;
  expiresAt: Date;
}

const insertSession = query('insert_session', (db, $: Arguments<NewSession>) =>
  db
    .with('user_as_before', cte =>
      cte
        .selectFrom('users as u')
        .innerJoin('sign_in_methods as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.kind', '=', 'password'))
        .select('u.id')
        .where('u.id', '=', $.userId)
        .where('m.updated_at', '=', $.setAt)
        .where(maySignIn)
        .forShare(['u', 'm']),
    )
    .insertInto('sessions')
    .columns(['token_hash', 'user_id', 'created_at', 'last_seen_at', 'expires_at'])
    .expression(from =>
      from
        .selectFrom('user_as_before')
        .select([
          $.tokenHash.as('token_hash'),
          'id',
          $.now.as('created_at'),
          $.now.as('last_seen_at'),
          $.expiresAt.as('expires_at'),
        ]),
    )
    .returning('user_id'),
);

/**
 * Starts a session and returns its token; undefined if the password has changed since it was compared, or the user may
 * not sign in. Setting a password and beginning an erasure end all sessions. They lock the same rows, so that no session
 * starts with the old password after that.
 */
export async function startSession(
  db: Queryable,
  { id, set_at }: ProvenUser,
  { now, expiresAt, previous }: SessionTerms,
): Promise<string | undefined> {
  const { text, hash } = makeSecret();
  const [session] = await db.query(insertSession, { tokenHash: hash, userId: id, setAt: set_at, now, expiresAt });
  if (!session) return undefined;
  if (previous) await endSession(db, previous);
  return text;
}
