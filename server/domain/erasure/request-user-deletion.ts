import { type Arguments, query } from '../../database/query.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { findHolds } from './find-holds.ts';

/** Waits for an erasure that is beginning, and then finds no user. */
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
 * Starts the grace after which a clean-up erases a user; one that runs goes on as it is. Until then the user may do
 * everything as ever. It is for the user to ask for, or for the operator of the server on their behalf. Owners of
 * accounts and operators may ask too: answers what holds them, and clean-ups pass them over as long as it does.
 */
export async function requestUserDeletion(admin: Administration, userId: number): Promise<string[]> {
  const user = await requireNotBegun(admin, userId);
  if (user.deletion_requested_at === null) {
    await admin.query(setDeletion, { userId, deletionRequestedAt: admin.now });
    admin.audit.record('user.deletion_requested', { user_id: userId });
  }
  return findHolds(admin, userId);
}

/** Lets a user stay after all, as long as the erasure has not begun; for whoever may ask for the deletion. */
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
