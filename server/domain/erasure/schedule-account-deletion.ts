import type { Queryable } from '../../database/database.ts';
import { plannedStatement, statement } from '../../database/statement.ts';
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

/** Whoever owns it may call it off, and has to hear of it in time: it may have been another, or somebody in their place. */
const leaveNotices = plannedStatement<never>(`
  select graphile_worker.add_job(
    'mail_account_deletion', json_build_object('account_id', m.account_id, 'user_id', m.user_id)
  )
  from memberships m
  where m.account_id = $1 and m.role = 'owner'`);

/**
 * Starts the grace after which a clean-up erases an account; one that runs goes on as it is. Until then the account
 * works as ever. It is for an owner of the account to ask for, or for the operator of the server. Its owners are
 * told by mail.
 */
export async function scheduleAccountDeletion(admin: Administration, accountId: number): Promise<void> {
  const { is_scheduled } = await requireNotBegun(admin, accountId);
  if (is_scheduled) return;
  await admin.query(setDeletion, [accountId, admin.now]);
  await admin.query(leaveNotices, [accountId]);
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

const selectDeletion = statement<{ email: string; name: string; slug: string; scheduled_at: string }>(
  'select_scheduled_deletion',
  `select u.email, a.name, a.slug, a.deletion_scheduled_at as scheduled_at
  from accounts a
  join memberships m on m.account_id = a.id and m.user_id = $2 and m.role = 'owner'
  join users u on u.id = m.user_id and u.erasure_began_at is null
  where a.id = $1 and a.deletion_scheduled_at is not null and a.erasure_began_at is null`,
);

/** What an owner is to be told of a deletion: undefined where it was called off, or they are an owner no more. */
export async function readScheduledDeletion(db: Queryable, accountId: number, ownerId: number) {
  const [deletion] = await db.query(selectDeletion, [accountId, ownerId]);
  return deletion;
}
