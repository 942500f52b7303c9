import { type NotNull, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** Starts from a person, who may own any accounts. */
const selectHolds = query('select_holds', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('users as u')
    .leftJoin('memberships as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.role', '=', 'owner'))
    .leftJoin('accounts as a', 'a.id', 'm.account_id')
    .select(['u.is_operator', 'a.id as account_id', 'a.slug'])
    .where('u.id', '=', $.userId)
    .orderBy('a.slug'),
);

/**
 * Returns the reasons that prevent the erasure of a user: an owner of an account, other than the given ones, or an
 * operator of the server. Each reason completes the sentence "The user is …".
 */
export async function findHolds(
  database: Queryable,
  userId: number,
  goingAccountIds: readonly number[] = [],
): Promise<string[]> {
  const rows = await database.query(selectHolds, { userId });
  const owned = rows.filter(({ account_id: id }) => id !== null && !goingAccountIds.includes(id));
  return [...(rows[0]?.is_operator ? ['operator of the server'] : []), ...owned.map(({ slug }) => `owner of ${slug}`)];
}

/** Waits for the first transaction of an erasure. After that it finds no user. */
const lockUser = query('lock_user_for_deletion', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('users')
    .select('deletion_requested_at')
    .where('id', '=', $.userId)
    .where('erasure_began_at', 'is', null)
    .where('is_placeholder', '=', false)
    .forNoKeyUpdate(),
);

const setUserDeletion = query(
  'set_user_deletion',
  (db, $: Arguments<{ userId: number; deletionRequestedAt: Date | null }>) =>
    db.updateTable('users').set({ deletion_requested_at: $.deletionRequestedAt }).where('id', '=', $.userId),
);

/**
 * Starts the grace after which a clean-up erases a user. A repeated request does not restart it. Until its end nothing
 * changes for the user. The user may request this, or the operator of the server for them. Returns the reasons that
 * prevent the erasure, such as a role as owner: clean-ups skip the user as long as they exist.
 */
export async function requestUserDeletion(admin: Administration, userId: number): Promise<string[]> {
  const user = await requireKeptUser(admin, userId);
  if (user.deletion_requested_at === null) {
    await admin.query(setUserDeletion, { userId, deletionRequestedAt: admin.now });
    admin.audit.record('user.deletion_requested', { user_id: userId });
  }
  return findHolds(admin, userId);
}

/** Cancels the deletion of a user, unless the erasure has begun. Allowed to those who may request the deletion. */
export async function cancelUserDeletion(admin: Administration, userId: number): Promise<void> {
  const user = await requireKeptUser(admin, userId);
  if (user.deletion_requested_at === null) return;
  await admin.query(setUserDeletion, { userId, deletionRequestedAt: null });
  admin.audit.record('user.deletion_cancelled', { user_id: userId });
}

async function requireKeptUser(admin: Administration, userId: number) {
  const [user] = await admin.query(lockUser, { userId });
  if (user) return user;
  throw new AdministrationError('conflict', 'The user is being erased: the grace is over, and what is gone is gone');
}

/** Waits for the first transaction of an erasure. After that it finds no account. */
const lockAccount = query('lock_account_for_deletion', (db, $: Arguments<{ accountId: number }>) =>
  db
    .selectFrom('accounts')
    .select('deletion_scheduled_at')
    .where('id', '=', $.accountId)
    .where('erasure_began_at', 'is', null)
    .forNoKeyUpdate(),
);

const setAccountDeletion = query(
  'set_account_deletion',
  (db, $: Arguments<{ accountId: number; deletionScheduledAt: Date | null }>) =>
    db.updateTable('accounts').set({ deletion_scheduled_at: $.deletionScheduledAt }).where('id', '=', $.accountId),
);

/** Every owner may cancel the deletion, so all of them receive a notice. */
const leaveNotices = query('leave_notices_of_deletion', (db, $: Arguments<{ accountId: number }>) =>
  db
    .selectFrom('memberships as m')
    .select(
      sql`graphile_worker.add_job(
        'mail_account_deletion', json_build_object('account_id', m.account_id, 'user_id', m.user_id)
      )`.as('job'),
    )
    .where('m.account_id', '=', $.accountId)
    .where('m.role', '=', 'owner'),
);

/**
 * Starts the grace after which a clean-up erases an account, and sends its owners a notice by mail. A repeated request
 * does not restart the grace. Until its end the account works as before. An owner of the account may request this, or
 * the operator of the server.
 */
export async function scheduleAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const account = await requireKeptAccount(admin, accountId);
  if (account.deletion_scheduled_at !== null) return;
  await admin.query(setAccountDeletion, { accountId, deletionScheduledAt: admin.now });
  await admin.query(leaveNotices, { accountId });
  admin.audit.record('account.deletion_scheduled', { account_id: accountId });
}

/** Cancels the deletion of an account, unless the erasure has begun. Allowed to those who may schedule it. */
export async function cancelAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const account = await requireKeptAccount(admin, accountId);
  if (account.deletion_scheduled_at === null) return;
  await admin.query(setAccountDeletion, { accountId, deletionScheduledAt: null });
  admin.audit.record('account.deletion_cancelled', { account_id: accountId });
}

async function requireKeptAccount(admin: Administration, accountId: number) {
  const [account] = await admin.query(lockAccount, { accountId });
  if (account) return account;
  throw new AdministrationError('conflict', 'The account is being erased: its grace is over, and what is gone is gone');
}

const selectDeletion = query('select_scheduled_deletion', (db, $: Arguments<{ accountId: number; ownerId: number }>) =>
  db
    .selectFrom('accounts as a')
    .innerJoin('memberships as m', join =>
      join.on('m.account_id', '=', $.accountId).on('m.user_id', '=', $.ownerId).on('m.role', '=', 'owner'),
    )
    .innerJoin('users as u', join => join.onRef('u.id', '=', 'm.user_id').on('u.erasure_began_at', 'is', null))
    .select(['u.email', 'a.name', 'a.slug', 'a.deletion_scheduled_at as scheduled_at'])
    .where('a.id', '=', $.accountId)
    .where('a.deletion_scheduled_at', 'is not', null)
    .where('a.erasure_began_at', 'is', null)
    .$narrowType<{ email: NotNull; scheduled_at: NotNull }>(),
);

/** Reads the content of an owner's notice. Undefined after a cancellation, and for a user who is no longer an owner. */
export async function readScheduledDeletion(db: Queryable, accountId: number, ownerId: number) {
  const [deletion] = await db.query(selectDeletion, { accountId, ownerId });
  return deletion;
}
