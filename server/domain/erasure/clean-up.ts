import type { NotNull } from 'kysely';
import type { Config } from '../../config.ts';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query, runOn } from '../../database/query.ts';
import { boolean, sql } from '../../database/sql.ts';
import type { ErasureOptions, ErasureResult, UserEraser } from './batches.ts';
import { eraseAccount } from './erase-account.ts';
import { eraseUser } from './erase-user.ts';
import { findHolds } from './request-deletion.ts';

/**
 * Finds the accounts that are due for erasure. An erasure that has begun stays due even if the operator extends the
 * grace period.
 */
const selectDueAccounts = query('select_due_accounts', (db, $: Arguments<{ dueBefore: Date }>) =>
  db
    .selectFrom('accounts')
    .select(['id', 'slug', 'name', 'deletion_scheduled_at'])
    .select(a => a('erasure_began_at', 'is not', null).as('is_begun'))
    .where('deletion_scheduled_at', 'is not', null)
    .where(a => a.or([a('deletion_scheduled_at', '<=', $.dueBefore), a('erasure_began_at', 'is not', null)]))
    .orderBy('id')
    .$narrowType<{ deletion_scheduled_at: NotNull }>(),
);

const selectDueUsers = query('select_due_users', (db, $: Arguments<{ dueBefore: Date }>) =>
  db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'deletion_requested_at'])
    .select(u => u('erasure_began_at', 'is not', null).as('is_begun'))
    .where('deletion_requested_at', 'is not', null)
    .where(u => u.or([u('deletion_requested_at', '<=', $.dueBefore), u('erasure_began_at', 'is not', null)]))
    .orderBy('id')
    .$narrowType<{ email: NotNull; deletion_requested_at: NotNull }>(),
);

export type Graces = Pick<Config, 'ACCOUNT_DELETION_GRACE_DAYS' | 'USER_DELETION_GRACE_HOURS'>;

type Erased = 'account' | 'user';

/**
 * A clean-up is a run that erases due accounts and users. It passes the outcome for each account and user to these
 * functions as soon as the outcome is known.
 */
export interface CleanUpWitness {
  erased(what: Erased, result: ErasureResult): void;
  held(userId: number, heldBy: string[]): void;
  failed(what: Erased, id: number, error: unknown): void;
}

export interface CleanUpOptions {
  graces: Graces;
  now: Date;
  erasers: readonly UserEraser[];
  witness: CleanUpWitness;
  /** Records an erasure in the audit log. Runs in the last transaction of that erasure. */
  record(transaction: Queryable, what: Erased, result: ErasureResult): Promise<void>;
  batchSize?: number;
}

/** The default number of rows in a batch. One statement for this many rows takes a few hundredths of a second. */
const defaultBatchSize = 1000;

/**
 * Erases first the accounts and then the users whose grace period is over (specification: Operational rules, 1 and 2).
 * An owner cannot be erased before their account. If one erasure fails but the database still answers, the function
 * continues with the other erasures. Returns false and does nothing if another process is already running this
 * function.
 */
export async function cleanUp(
  database: Database,
  { graces, now, erasers, witness, record, batchSize = defaultBatchSize }: CleanUpOptions,
): Promise<boolean> {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, now);
  const optionsFor = (what: Erased, dueBefore: Date): ErasureOptions => ({
    now,
    dueBefore,
    batchSize,
    record: (transaction, result) => record(transaction, what, result),
  });
  const attempt = async (what: Erased, id: number, erase: () => ReturnType<typeof eraseUser>) => {
    try {
      const outcome = await erase();
      if (outcome && 'heldBy' in outcome) witness.held(id, outcome.heldBy);
      else if (outcome) witness.erased(what, outcome);
    } catch (error) {
      // If the database still answers, only the erasure of this account or user has failed, and the run continues with
      // the next one. Otherwise the whole run fails.
      await database.query(ping, {});
      witness.failed(what, id, error);
    }
  };
  return whileAlone(database, async () => {
    const ofAccounts = optionsFor('account', accountsDueBefore);
    for (const { id } of await database.query(selectDueAccounts, ofAccounts)) {
      await attempt('account', id, () => eraseAccount(database, id, ofAccounts));
    }
    const ofUsers = { ...optionsFor('user', usersDueBefore), erasers };
    for (const { id } of await database.query(selectDueUsers, ofUsers)) {
      await attempt('user', id, () => eraseUser(database, id, ofUsers));
    }
  });
}

/**
 * Returns two points in time. The deletion of an account is due if it was requested at `accountsDueBefore` or earlier.
 * The deletion of a user is due if it was requested at `usersDueBefore` or earlier.
 */
export function dueTimes({ ACCOUNT_DELETION_GRACE_DAYS, USER_DELETION_GRACE_HOURS }: Graces, now: Date) {
  return {
    accountsDueBefore: new Date(now.getTime() - ACCOUNT_DELETION_GRACE_DAYS * 24 * hourMs),
    usersDueBefore: new Date(now.getTime() - USER_DELETION_GRACE_HOURS * hourMs),
  };
}

const hourMs = 3_600_000;

/**
 * Lists the accounts and users that are due for erasure. `held_by` contains the reasons that prevent the erasure of a
 * user.
 */
export async function listDue(database: Queryable, graces: Graces, now: Date) {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, now);
  const accounts = await database.query(selectDueAccounts, { dueBefore: accountsDueBefore });
  // The server erases due accounts before due users. So an owner of a due account can be erased after the account.
  const accountIds = accounts.map(({ id }) => id);
  const users = [];
  for (const user of await database.query(selectDueUsers, { dueBefore: usersDueBefore })) {
    users.push({ ...user, held_by: user.is_begun ? [] : await findHolds(database, user.id, accountIds) });
  }
  return { accounts, users };
}

const ping = query('ping_in_clean_up', db => db.selectNoFrom(one => one.lit(1).as('one')));

const tryLock = sql(
  'lock_clean_up',
  { arguments: {}, row: { is_acquired: boolean() } },
  `select pg_try_advisory_lock(hashtextextended('idea-board cleanup', 0)) as is_acquired`,
);

const unlock = sql('unlock_clean_up', { arguments: {}, row: {} }, 'select pg_advisory_unlock_all()');

/**
 * Calls `work`, unless another process is already erasing due accounts and users. Two such runs at the same time would
 * do no damage, but would often wait for each other's locks.
 */
async function whileAlone(database: Database, work: () => Promise<void>): Promise<boolean> {
  const connection = await database.pool.connect();
  try {
    const [lock] = await runOn(connection, tryLock, {});
    if (lock?.is_acquired) await work();
    return lock?.is_acquired ?? false;
  } finally {
    // If unlocking fails, release(error) closes the database connection. PostgreSQL then releases the lock.
    await runOn(connection, unlock, {}).then(
      () => connection.release(),
      error => connection.release(error),
    );
  }
}
