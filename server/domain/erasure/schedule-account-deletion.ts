import { type NotNull, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** Waits for the first transaction of an erasure. After that it finds no account. */
const lockAccount = query('lock_account_for_deletion', (db, $: Arguments<{ accountId: number }>) =>
  db
    .selectFrom('accounts')
    .select('deletion_scheduled_at')
    .where('id', '=', $.accountId)
    .where('erasure_began_at', 'is', null)
    .forNoKeyUpdate(),
);

const setDeletion = query(
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
  const account = await requireNotBegun(admin, accountId);
  if (account.deletion_scheduled_at !== null) return;
  await admin.query(setDeletion, { accountId, deletionScheduledAt: admin.now });
  await admin.query(leaveNotices, { accountId });
  admin.audit.record('account.deletion_scheduled', { account_id: accountId });
}

/** Cancels the deletion of an account, unless the erasure has begun. Allowed to those who may schedule it. */
export async function cancelAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const account = await requireNotBegun(admin, accountId);
  if (account.deletion_scheduled_at === null) return;
  await admin.query(setDeletion, { accountId, deletionScheduledAt: null });
  admin.audit.record('account.deletion_cancelled', { account_id: accountId });
}

async function requireNotBegun(admin: Administration, accountId: number) {
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
