import { plannedStatement, statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { endAllSessions } from './end-sessions.ts';
import { maySignIn } from './may-sign-in.ts';
import { endPasswordLinks } from './password-links.ts';

/** Whoever takes the row first takes all of the user's, and the others find the link used. */
const takeLink = statement<{ user_id: number }>(
  'take_password_link',
  `delete from password_links l using users u
  where l.token_hash = $1 and l.expires_at > $2 and u.id = l.user_id and ${maySignIn}
  returning l.user_id`,
);

/**
 * Sets a password by a link, to the hash of one that was checked. The link works once; other links of the user and every
 * session end with it.
 */
export async function redeemPasswordLink(admin: Administration, linkHash: Buffer, credential: string): Promise<void> {
  const [link] = await admin.query(takeLink, [linkHash, admin.now]);
  if (!link) throw new AdministrationError('not_found', 'The link was used already, or its time is over');
  await setPassword(admin, link.user_id, credential);
}

const upsertPassword = statement<{ set_at: string; is_another: boolean }>(
  'upsert_password',
  `insert into sign_in_methods as m (user_id, kind, credential, created_at, updated_at)
  values ($1, 'password', $2, $3, $3)
  on conflict (user_id, kind) do update
    set credential = excluded.credential,
        -- Later than before in any case: sign-ins tell by it that they compared with this one.
        updated_at = greatest(excluded.updated_at, m.updated_at + interval '1 millisecond')
  returning updated_at as set_at, updated_at > created_at as is_another`,
);

/** In the mailbox of whoever signs in: it may have been somebody else who set it. */
const leaveNotice = plannedStatement<never>(`
  select graphile_worker.add_job('mail_password_notice', json_build_object('user_id', $1::bigint), max_attempts => 5)`);

/**
 * Sets a password to the hash of one that was checked; the user is told by mail where they had one before. Answers the
 * time by which sign-ins tell that it is this one.
 */
export async function setPassword(admin: Administration, userId: number, credential: string): Promise<string> {
  const [password] = await admin.query(upsertPassword, [userId, credential, admin.now]);
  if (!password) throw new Error('The password was not set');
  if (password.is_another) await admin.query(leaveNotice, [userId]);
  await endPasswordLinks(admin, userId);
  const sessions = await endAllSessions(admin, userId);
  admin.audit.record('password.set', { user_id: userId, sessions });
  return password.set_at;
}
