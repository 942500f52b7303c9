import { sql } from 'kysely';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import { t } from '../../text/catalogue.ts';
import { currentLanguage } from '../../text/language.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { endPasswordLinks } from './password-links.ts';
import type { ProvenUser } from './proven-user.ts';
import { endAllSessions, maySignIn, provenUsers, type SessionTerms } from './session.ts';
import { endSignInLinks } from './sign-in-links.ts';
import { type StartedSession, startSession } from './start-session.ts';

/** Only the first of several parallel requests deletes the link. For the other requests, the link no longer exists. */
const takeLink = query('take_password_link', (db, $: Arguments<{ linkHash: Buffer; now: Date }>) =>
  db
    .deleteFrom('password_links as l')
    .using('users as u')
    .where('l.token_hash', '=', $.linkHash)
    .where('l.expires_at', '>', $.now)
    .whereRef('u.id', '=', 'l.user_id')
    .where(maySignIn)
    .returning('l.user_id'),
);

/**
 * Sets a password through a password link. The credential is the hash of a password that was already checked. The link
 * works only once. All other password links and all sessions of the user end.
 */
export async function redeemPasswordLink(admin: Administration, linkHash: Buffer, credential: string): Promise<void> {
  const [link] = await admin.query(takeLink, { linkHash, now: admin.now });
  if (!link) throw new AdministrationError('not_found', t('refusals.link.used_or_expired'));
  await setPassword(admin, link.user_id, credential);
}

/**
 * Stores a password. Every change of the password must increase updated_at. A sign-in compares this time to notice that
 * the password has changed during the sign-in.
 */
const upsertPassword = query('upsert_password', (db, $: Arguments<{ userId: number; credential: string; now: Date }>) =>
  db
    .insertInto('sign_in_methods')
    .values({
      user_id: $.userId,
      kind: 'password',
      credential: $.credential,
      created_at: $.now,
      updated_at: $.now,
    })
    .onConflict(conflict =>
      conflict.columns(['user_id', 'kind']).doUpdateSet(row => ({
        credential: row.ref('excluded.credential'),
        updated_at: row.fn<string>('greatest', [
          'excluded.updated_at',
          sql`sign_in_methods.updated_at + interval '1 millisecond'`,
        ]),
      })),
    )
    .returning(row => ['updated_at as set_at', row('updated_at', '>', row.ref('created_at')).as('is_another')]),
);

/**
 * Sets a password. The credential is the hash of a password that was already checked. If the user had a password
 * before, the user gets a notice by mail. Returns the updated_at of the new password.
 */
export async function setPassword(admin: Administration, userId: number, credential: string): Promise<string> {
  const [password] = await admin.query(upsertPassword, { userId, credential, now: admin.now });
  if (!password) throw new Error('The password was not set');
  if (password.is_another) {
    // The notice warns the user, because another person may have set the password.
    await addJob(admin, {
      task: 'mail_password_notice',
      payload: { user_id: userId, language: currentLanguage() },
      maxAttempts: 5,
    });
  }
  await endPasswordLinks(admin, userId);
  await endSignInLinks(admin, userId);
  const sessions = await endAllSessions(admin, userId);
  admin.audit.record('password.set', { user_id: userId, sessions });
  return password.set_at;
}

/** Locks the user before the password. An erasure takes the locks in the same order, which prevents deadlocks. */
const lockPassword = query('lock_own_password', (db, $: Arguments<ProvenUser>) =>
  provenUsers(db, $).forNoKeyUpdate(['u', 'm']),
);

/**
 * Replaces the password of a user who has entered the current password. All sessions end, because another person may
 * know their tokens. Then a new session starts. If a user changes the password twice at the same time, the second
 * change is rejected.
 */
export async function changePassword(
  admin: Administration,
  user: ProvenUser,
  credential: string,
  terms: Omit<SessionTerms, 'previous'> & { hasSecondFactor: boolean },
): Promise<StartedSession> {
  const [locked] = await admin.query(lockPassword, user);
  const set_at = locked && (await setPassword(admin, user.id, credential));
  const started =
    set_at && (await startSession(admin, { id: user.id, set_at }, { ...terms, previous: undefined }, terms));
  if (started) return started;
  throw new AdministrationError('conflict', t('refusals.password.changed_meanwhile'));
}
