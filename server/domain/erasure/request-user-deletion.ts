import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { findHolds } from './find-holds.ts';

/** Waits for a beginning erasure, and then finds no user who could stay. */
const lockUser = statement<{ is_requested: boolean }>(
  'lock_user_for_deletion',
  `select deletion_requested_at is not null as is_requested
  from users where id = $1 and erasure_began_at is null and not is_placeholder
  for no key update`,
);

const setDeletion = statement<never>('set_user_deletion', 'update users set deletion_requested_at = $2 where id = $1');

/**
 * Starts the grace after which a clean-up erases a user; one that runs goes on as it is. Until then the user may do
 * everything as ever. It is for the user to ask for, or for the operator of the server on their behalf. Owners of
 * accounts and operators may ask too: answers what holds them, and clean-ups pass them over as long as it does.
 */
export async function requestUserDeletion(admin: Administration, userId: number): Promise<string[]> {
  const { is_requested } = await requireNotBegun(admin, userId);
  if (!is_requested) {
    await admin.query(setDeletion, [userId, admin.now]);
    admin.audit.record('user.deletion_requested', { user_id: userId });
  }
  return findHolds(admin, userId);
}

/** Lets a user stay after all, as long as the erasure has not begun; for whoever may ask for the deletion. */
export async function cancelUserDeletion(admin: Administration, userId: number): Promise<void> {
  const { is_requested } = await requireNotBegun(admin, userId);
  if (!is_requested) return;
  await admin.query(setDeletion, [userId, null]);
  admin.audit.record('user.deletion_cancelled', { user_id: userId });
}

async function requireNotBegun(admin: Administration, userId: number) {
  const [user] = await admin.query(lockUser, [userId]);
  if (user) return user;
  throw new AdministrationError('conflict', 'The user is being erased: the grace is over, and what is gone is gone');
}
