import type { NotNull } from 'kysely';
import type { Config } from '../../config.ts';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf, runOn } from '../../database/query.ts';
import { boolean, sql } from '../../database/sql.ts';
import type { ErasureResult, UserEraser } from './batches.ts';
import { eraseAccount } from './erase-account.ts';
import { eraseUser } from './erase-user.ts';

export type DueAccount = RowOf<typeof selectDueAccounts>;
export type DueUser = RowOf<typeof selectDueUsers>;

/** Scans all accounts: any may be due. An erasure that began is due even if the grace has become longer. */
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

/** Lists the accounts whose deletion was scheduled at the given time or before. */
export function listDueAccounts(database: Queryable, dueBefore: Date): Promise<DueAccount[]> {
  return database.query(selectDueAccounts, { dueBefore });
}

/** Lists the users who requested their deletion at the given time or before. */
export function listDueUsers(database: Queryable, dueBefore: Date): Promise<DueUser[]> {
  return database.query(selectDueUsers, { dueBefore });
}

export type Graces = Pick<Config, 'ACCOUNT_DELETION_GRACE_DAYS' | 'USER_DELETION_GRACE_HOURS'>;

/** Receives the outcome of each account and user at once. */
export interface CleanUpWitness {
  accountErased(account: ErasureResult): void;
  userErased(user: ErasureResult): void;
  userHeld(id: number, heldBy: string[]): void;
  failed(what: 'account' | 'user', id: number, error: unknown): void;
}

/** Records an erasure in its last transaction. */
export interface ErasureAudit {
  accountErased(transaction: Queryable, account: ErasureResult): Promise<void>;
  userErased(transaction: Queryable, user: ErasureResult): Promise<void>;
}

export interface CleanUpOptions {
  graces: Graces;
  now: Date;
  erasers: readonly UserEraser[];
  witness: CleanUpWitness;
  audit: ErasureAudit;
  batchSize?: number;
}

/** A statement for this many rows takes some hundredths of a second. */
const defaultBatchSize = 1000;

/**
 * Erases the accounts and then the users whose grace is over (Operational rules, 1 and 2). Accounts come first, because
 * their owners cannot be erased before. A failure does not stop the others. Returns false and does nothing while
 * another clean-up runs.
 */
export async function cleanUp(
  database: Database,
  { graces, now, erasers, witness, audit, batchSize = defaultBatchSize }: CleanUpOptions,
): Promise<boolean> {
  return whileAlone(database, async () => {
    const { accountsDueBefore, usersDueBefore } = dueTimes(graces, now);
    const attempt = attemptOn(database, witness);
    const ofAccounts = { now, dueBefore: accountsDueBefore, batchSize, record: audit.accountErased };
    for (const { id } of await listDueAccounts(database, accountsDueBefore)) {
      const account = await attempt('account', id, () => eraseAccount(database, id, ofAccounts));
      if (account) witness.accountErased(account);
    }
    const ofUsers = { now, dueBefore: usersDueBefore, batchSize, erasers, record: audit.userErased };
    for (const { id } of await listDueUsers(database, usersDueBefore)) {
      const user = await attempt('user', id, () => eraseUser(database, id, ofUsers));
      if (user && 'heldBy' in user) witness.userHeld(id, user.heldBy);
      else if (user) witness.userErased(user);
    }
  });
}

/** A deletion that was requested at one of these times or before is due now. */
export function dueTimes({ ACCOUNT_DELETION_GRACE_DAYS, USER_DELETION_GRACE_HOURS }: Graces, now: Date) {
  return {
    accountsDueBefore: new Date(now.getTime() - ACCOUNT_DELETION_GRACE_DAYS * 24 * hourMs),
    usersDueBefore: new Date(now.getTime() - USER_DELETION_GRACE_HOURS * hourMs),
  };
}

const hourMs = 3_600_000;

const ping = query('ping_in_clean_up', db => db.selectNoFrom(one => one.lit(1).as('one')));

/** A failure concerns one account or user as long as the database answers. Otherwise the clean-up fails. */
function attemptOn(database: Queryable, witness: CleanUpWitness) {
  return async <T>(what: 'account' | 'user', id: number, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      await database.query(ping, {});
      witness.failed(what, id, error);
      return undefined;
    }
  };
}

const tryLock = sql(
  'lock_clean_up',
  { arguments: {}, row: { is_acquired: boolean() } },
  `select pg_try_advisory_lock(hashtextextended('idea-board cleanup', 0)) as is_acquired`,
);

const unlock = sql('unlock_clean_up', { arguments: {}, row: {} }, 'select pg_advisory_unlock_all()');

/** Two runs at once do no harm, but keep waiting for each other. */
async function whileAlone(database: Database, work: () => Promise<void>): Promise<boolean> {
  const connection = await database.pool.connect();
  try {
    const [lock] = await runOn(connection, tryLock, {});
    if (lock?.is_acquired) await work();
    return lock?.is_acquired ?? false;
  } finally {
    // If the lock cannot be released, closing the connection releases it.
    await runOn(connection, unlock, {}).then(
      () => connection.release(),
      error => connection.release(error),
    );
  }
}
