import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** Waits for a beginning erasure, and then finds no account that could be kept. */
const lockAccount = statement<{ is_scheduled: boolean }>(
  'lock_account_for_deletion',
  `select deletion_scheduled_at is not null as is_scheduled
  from accounts where id = $1 and erasure_began_at is null
  for no key update`,
);

const setDeletion = statement<never>(
  'set_account_deletion',
  'update accounts set deletion_scheduled_at = $2 where id = $1',
);

/**
 * Starts the grace after which a clean-up erases an account; one that runs goes on as it is. Until then the account
 * works as ever. It is for an owner of the account to ask for, or for the operator of the server.
 */
export async function scheduleAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const { is_scheduled } = await requireNotBegun(admin, accountId);
  if (is_scheduled) return;
  await admin.query(setDeletion, [accountId, admin.now]);
  admin.audit.record('account.deletion_scheduled', { account_id: accountId });
}

/** Keeps an account after all, as long as its erasure has not begun; for whoever may schedule it. */
export async function cancelAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const { is_scheduled } = await requireNotBegun(admin, accountId);
  if (!is_scheduled) return;
  await admin.query(setDeletion, [accountId, null]);
  admin.audit.record('account.deletion_cancelled', { account_id: accountId });
}

async function requireNotBegun(admin: Administration, accountId: number) {
  const [account] = await admin.query(lockAccount, [accountId]);
  if (account) return account;
  throw new AdministrationError('conflict', 'The account is being erased: its grace is over, and what is gone is gone');
}
