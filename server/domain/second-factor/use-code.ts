import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { normalizeRecoveryCode } from './recovery-codes.ts';
import type { SecondFactorKeys } from './second-factor-keys.ts';
import { digitsOf, timeStepOf } from './totp.ts';

type CodeMethod = 'totp' | 'recovery_code';

/**
 * Returns `totp` for a text of six digits, which is a code of the authenticator app. Any other text counts as a
 * recovery code.
 */
export function methodOf(code: string): CodeMethod {
  return digitsOf(code) === undefined ? 'recovery_code' : 'totp';
}

interface Attempt {
  userId: number;
  code: string;
  now: Date;
}

/**
 * Accepts a user's code, which is a code of the app or a recovery code. Returns false for a wrong code. Accepts each
 * recovery code and each time step of the app at most once, even if several requests send the code at the same time.
 */
export function useCode(db: Queryable, keys: SecondFactorKeys, attempt: Attempt): Promise<boolean> {
  return methodOf(attempt.code) === 'totp' ? useTotp(db, keys, attempt) : useRecoveryCode(db, keys, attempt);
}

const selectSecret = query('select_second_factor', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('second_factors').select('secret').where('user_id', '=', $.userId),
);

/**
 * Allows each time step only once. If several requests use the same time step, only the first request changes the row.
 */
const takeTimeStep = query('take_time_step', (db, $: Arguments<{ userId: number; secret: Buffer; step: number }>) =>
  db
    .updateTable('second_factors')
    .set({ last_step: $.step })
    .where('user_id', '=', $.userId)
    // Rejects the code if the user has turned two-factor sign-in off and on again since useTotp read the secret.
    .where('secret', '=', $.secret)
    .where('last_step', '<', $.step)
    .returning('user_id'),
);

async function useTotp(db: Queryable, keys: SecondFactorKeys, { userId, code, now }: Attempt): Promise<boolean> {
  const [factor] = await db.query(selectSecret, { userId });
  if (!factor) return false;
  const step = timeStepOf(keys.open(userId, factor.secret), code, now);
  if (step === undefined) return false;
  return (await db.query(takeTimeStep, { userId, secret: factor.secret, step })).length > 0;
}

const takeRecoveryCode = query('take_recovery_code', (db, $: Arguments<{ userId: number; codeHash: Buffer }>) =>
  db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', $.userId)
    .where('code_hash', '=', $.codeHash)
    .returning('user_id'),
);

async function useRecoveryCode(db: Queryable, keys: SecondFactorKeys, { userId, code }: Attempt): Promise<boolean> {
  const normalized = normalizeRecoveryCode(code);
  if (normalized === undefined) return false;
  return (await db.query(takeRecoveryCode, { userId, codeHash: keys.hashOf(userId, normalized) })).length > 0;
}
