import { addJob } from '../../database/add-job.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { RecoveryCode, SecondFactor } from '../../entities/user.ts';
import { t } from '../../text/catalogue.ts';
import { currentLanguage } from '../../text/language.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { endChallenges } from '../sign-in/challenge.ts';
import { lockUser } from '../users/find-user.ts';
import { makeRecoveryCodes, normalizeRecoveryCode } from './recovery-codes.ts';
import type { SecondFactorKeys } from './second-factor-keys.ts';
import { timeStepOf } from './totp.ts';
import { useCode } from './use-code.ts';

/** The kinds of changes of a user's two-factor sign-in. The user gets a mail about each change. */
export type SecondFactorChange = 'enabled' | 'disabled' | 'recovery_used' | 'codes_regenerated';

const selectState = query('select_second_factor_state', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('second_factors as f')
    .select('f.created_at')
    .select(f =>
      f
        .selectFrom('recovery_codes as c')
        .whereRef('c.user_id', '=', 'f.user_id')
        .select(c => c.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('codes_left'),
    )
    .where('f.user_id', '=', $.userId),
);

/** Returns the time when the user turned on two-factor sign-in, and the number of unused recovery codes. */
export async function readSecondFactor(db: Queryable, userId: number) {
  const [state] = await db.query(selectState, { userId });
  return state;
}

const endOthers = query('delete_other_sessions', (db, $: Arguments<{ userId: number; tokenHash: Buffer }>) =>
  db.deleteFrom('sessions').where('user_id', '=', $.userId).where('token_hash', '<>', $.tokenHash).returning('user_id'),
);

const markSession = query('mark_session_with_second_factor', (db, $: Arguments<{ tokenHash: Buffer }>) =>
  db.updateTable('sessions').set({ has_second_factor: true }).where('token_hash', '=', $.tokenHash),
);

/**
 * Turns on two-factor sign-in with the secret in the user's app, and returns the recovery codes. The first code of the
 * app proves that the app has the secret. All other sessions of the user end, because the user started them without a
 * code.
 */
export async function enableSecondFactor(
  admin: Administration,
  keys: SecondFactorKeys,
  { userId, tokenHash }: { userId: number; tokenHash: Buffer },
  { secret, code }: { secret: string; code: string },
): Promise<string[]> {
  await lockUser(admin, userId);
  if (await readSecondFactor(admin, userId)) {
    throw new AdministrationError('conflict', t('refusals.second_factor.on'));
  }
  const lastStep = timeStepOf(secret, code, admin.now);
  if (lastStep === undefined) {
    throw new AdministrationError('invalid', t('refusals.second_factor.wrong_code'));
  }
  admin.em.create(SecondFactor, {
    userId,
    secret: keys.seal(userId, secret),
    lastStep,
    createdAt: admin.now,
  });
  await admin.em.flush();
  const codes = await addCodes(admin, keys, userId);
  await endChallenges(admin, userId);
  const sessions = (await admin.query(endOthers, { userId, tokenHash })).length;
  await admin.query(markSession, { tokenHash });
  await notify(admin, userId, 'enabled');
  admin.audit.record('second_factor.enabled', { user_id: userId, sessions });
  return codes;
}

/**
 * Replaces the recovery codes of a user who has entered the password and a code. Returns undefined for a wrong code.
 */
export async function regenerateRecoveryCodes(
  admin: Administration,
  keys: SecondFactorKeys,
  userId: number,
  code: string,
): Promise<string[] | undefined> {
  await lockUser(admin, userId);
  if (!(await useCode(admin, keys, { userId, code, now: admin.now }))) return undefined;
  await admin.em.nativeDelete(RecoveryCode, { userId });
  const codes = await addCodes(admin, keys, userId);
  await notify(admin, userId, 'codes_regenerated');
  admin.audit.record('second_factor.codes_regenerated', { user_id: userId });
  return codes;
}

/** Turns off two-factor sign-in for a user who has entered the password and a code. Returns false for a wrong code. */
export async function disableSecondFactor(
  admin: Administration,
  keys: SecondFactorKeys,
  userId: number,
  code: string,
): Promise<boolean> {
  await lockUser(admin, userId);
  if (!(await useCode(admin, keys, { userId, code, now: admin.now }))) return false;
  await removeSecondFactor(admin, userId);
  return true;
}

/** Turns off two-factor sign-in for a user who has lost the app and the recovery codes. Only the operator may do this. */
export async function resetSecondFactor(admin: Administration, userId: number): Promise<void> {
  await lockUser(admin, userId);
  await removeSecondFactor(admin, userId);
}

const unmarkSessions = query('unmark_sessions_of_user', (db, $: Arguments<{ userId: number }>) =>
  db
    .updateTable('sessions')
    .set({ has_second_factor: false })
    .where('user_id', '=', $.userId)
    .where('has_second_factor', '=', true),
);

async function removeSecondFactor(admin: Administration, userId: number): Promise<void> {
  // A cascading foreign key also removes the recovery codes.
  const removed = await admin.em.nativeDelete(SecondFactor, { userId });
  if (removed === 0) throw new AdministrationError('conflict', t('refusals.second_factor.off'));
  await admin.query(unmarkSessions, { userId });
  await notify(admin, userId, 'disabled');
  admin.audit.record('second_factor.disabled', { user_id: userId });
}

async function addCodes(admin: Administration, keys: SecondFactorKeys, userId: number): Promise<string[]> {
  const codes = makeRecoveryCodes();
  for (const code of codes) {
    const codeHash = keys.hashOf(userId, normalizeRecoveryCode(code) ?? code);
    admin.em.create(RecoveryCode, { userId, codeHash });
  }
  await admin.em.flush();
  return codes;
}

/**
 * Adds the job that mails a notice about a change of the user's two-factor sign-in. The job has only a few attempts,
 * because a late notice is useless.
 */
export async function notify(admin: Administration, userId: number, change: SecondFactorChange): Promise<void> {
  await addJob(admin, {
    task: 'mail_second_factor_notice',
    payload: { user_id: userId, change, language: currentLanguage() },
    maxAttempts: 5,
  });
}
