import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { maySignIn } from './may-sign-in.ts';
import { makeSecret } from './secret-text.ts';

/** Whose password was compared, and when it had been set. */
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

const insertSession = statement<{ user_id: number }>(
  'insert_session',
  `with user_as_before as (
    select u.id from users u join sign_in_methods m on m.user_id = u.id and m.kind = 'password'
    where u.id = $2 and m.updated_at = $3 and ${maySignIn}
    for share of u, m
  )
  insert into sessions (token_hash, user_id, created_at, last_seen_at, expires_at)
  select $1, id, $4, $4, $5 from user_as_before
  returning user_id`,
);

const deleteSession = statement<never>('delete_previous_session', 'delete from sessions where token_hash = $1');

/**
 * Starts a session and answers its token. Only while the password is the one that was compared, and the user may: whoever
 * sets another one, or begins the erasure, ends all sessions, and none may begin by what was true before. Of the two, the
 * second waits for the first.
 */
export async function startSession(
  db: Queryable,
  { id, set_at }: ProvenUser,
  { now, expiresAt, previous }: SessionTerms,
): Promise<string | undefined> {
  const { text, hash } = makeSecret();
  const [session] = await db.query(insertSession, [hash, id, set_at, now, expiresAt]);
  if (!session) return undefined;
  if (previous) await db.query(deleteSession, [previous]);
  return text;
}
