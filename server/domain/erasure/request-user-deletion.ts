import { type Arguments, query } from '../../database/query.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { findHolds } from './find-holds.ts';

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

const setDeletion = query(
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
  const user = await requireNotBegun(admin, userId);
  if (user.deletion_requested_at === null) {
    await admin.query(setDeletion, { userId, deletionRequestedAt: admin.now });
    admin.audit.record('user.deletion_requested', { user_id: userId });
  }
  return findHolds(admin, userId);
}

/** Cancels the deletion of a user, unless the erasure has begun. Allowed to those who may request the deletion. */
export async function cancelUserDeletion(admin: Administration, userId: number): Promise<void> {
  const user = await requireNotBegun(admin, userId);
  if (user.deletion_requested_at === null) return;
  await admin.query(setDeletion, { userId, deletionRequestedAt: null });
  admin.audit.record('user.deletion_cancelled', { user_id: userId });
}

async function requireNotBegun(admin: Administration, userId: number) {
  const [user] = await admin.query(lockUser, { userId });
  if (user) return user;
  throw new AdministrationError('conflict', 'The user is being erased: the grace is over, and what is gone is gone');
}
