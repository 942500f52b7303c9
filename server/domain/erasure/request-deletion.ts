import type { NotNull } from 'kysely';
import { addJob } from '../../database/add-job.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { Membership } from '../../entities/membership.ts';
import { t } from '../../text/catalogue.ts';
import { requireLockedAccount } from '../accounts/find-account.ts';
import type { Administration } from '../administration.ts';
import { hasReplacementAddress } from '../identities/own-address.ts';
import { lockUser } from '../users/find-user.ts';

/** Selects all accounts that the user owns, and whether the user is the operator of the server. */
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
 * Returns the reasons that prevent the erasure of a user: the user owns an account or operates the server. Ignores the
 * accounts in erasedAccountIds, because cleanUp() erases them before the user. Each reason completes the sentence "The
 * user is …".
 */
export async function findHolds(
  database: Queryable,
  userId: number,
  erasedAccountIds: readonly number[] = [],
): Promise<string[]> {
  const rows = await database.query(selectHolds, { userId });
  const owned = rows.flatMap(({ account_id: id, slug }) =>
    id === null || slug === null || erasedAccountIds.includes(id) ? [] : [t('profile.deletion.holds.owner', { slug })],
  );
  return [...(rows[0]?.is_operator ? [t('profile.deletion.holds.operator')] : []), ...owned];
}

/**
 * Starts the grace period of a user. The user or the operator of the server may request this. During the grace period
 * nothing changes for the user. After the grace period, cleanUp() erases the user. A repeated request does not restart
 * the grace period. Returns the reasons that prevent the erasure, such as a role as owner. cleanUp() skips the user as
 * long as such a reason exists.
 */
export async function requestUserDeletion(admin: Administration, userId: number): Promise<string[]> {
  const user = await lockUser(admin, userId);
  if (!user.deletionRequestedAt) {
    user.deletionRequestedAt = admin.now;
    admin.audit.record('user.deletion_requested', { user_id: userId });
  }
  return findHolds(admin, userId);
}

/** Cancels the deletion of a user, unless the erasure has begun. */
export async function cancelUserDeletion(admin: Administration, userId: number): Promise<void> {
  const user = await lockUser(admin, userId);
  if (!user.deletionRequestedAt) return;
  user.deletionRequestedAt = null;
  admin.audit.record('user.deletion_cancelled', { user_id: userId });
}

/**
 * Starts the grace period of an account, and sends the owners a notice by mail. An owner or the operator of the server
 * may request this. During the grace period the account works as before. After the grace period, cleanUp() erases the
 * account. A repeated request does not restart the grace period.
 */
export async function scheduleAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const account = await requireLockedAccount(admin, accountId);
  if (account.deletionScheduledAt) return;
  account.deletionScheduledAt = admin.now;
  // All owners get the notice, because every owner may cancel the deletion.
  for (const { userId } of await admin.em.find(Membership, { accountId, role: 'owner' })) {
    await addJob(admin, { task: 'mail_account_deletion', payload: { account_id: accountId, user_id: userId } });
  }
  admin.audit.record('account.deletion_scheduled', { account_id: accountId });
}

/** Cancels the deletion of an account, unless the erasure has begun. */
export async function cancelAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const account = await requireLockedAccount(admin, accountId);
  if (!account.deletionScheduledAt) return;
  account.deletionScheduledAt = null;
  admin.audit.record('account.deletion_cancelled', { account_id: accountId });
}

const selectDeletion = query('select_scheduled_deletion', (db, $: Arguments<{ accountId: number; ownerId: number }>) =>
  db
    .selectFrom('accounts as a')
    .innerJoin('memberships as m', join =>
      join.on('m.account_id', '=', $.accountId).on('m.user_id', '=', $.ownerId).on('m.role', '=', 'owner'),
    )
    .innerJoin('users as u', join => join.onRef('u.id', '=', 'm.user_id').on('u.erasure_began_at', 'is', null))
    .select(['u.email', 'u.language', 'a.name', 'a.slug', 'a.deletion_scheduled_at as scheduled_at'])
    .where('a.id', '=', $.accountId)
    .where('a.deletion_scheduled_at', 'is not', null)
    .where('a.erasure_began_at', 'is', null)
    .where(u => u.not(hasReplacementAddress(u.ref('u.email'))))
    .$narrowType<{ email: NotNull; scheduled_at: NotNull }>(),
);

/**
 * Returns the scheduled deletion of an account for one of its owners. Returns undefined if the deletion was cancelled,
 * the erasure has begun, or the user is no longer an owner.
 */
export async function readScheduledDeletion(db: Queryable, accountId: number, ownerId: number) {
  const [deletion] = await db.query(selectDeletion, { accountId, ownerId });
  return deletion;
}
