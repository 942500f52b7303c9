import type { Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { dueTimes, type Graces } from './clean-up.ts';

/** The last state of an account's or user's deletion in the audit log. */
export interface LoggedDeletion {
  what: 'account' | 'user';
  id: number;
  state: 'requested' | 'cancelled' | 'erased';
  at: string;
}

interface RepeatOptions {
  graces: Graces;
  now: Date;
  /**
   * The time of the backup. Accounts and users that were created later stay unchanged: the log may contain the same id
   * for an account or user that is not in the backup.
   */
  since: Date;
}

/**
 * Repeats deletion requests, cancellations and erasures from after a backup in the restored database. It erases nothing
 * itself: the next clean-up erases the accounts and users that were erased before the restore.
 */
export async function repeatDeletions(
  db: Kysely<Tables>,
  deletions: readonly LoggedDeletion[],
  { graces, now, since }: RepeatOptions,
): Promise<number> {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, now);
  let count = 0;
  for (const { what, id, state, at } of deletions) {
    const [table, column, due] =
      what === 'account'
        ? (['accounts', 'deletion_scheduled_at', accountsDueBefore] as const)
        : (['users', 'deletion_requested_at', usersDueBefore] as const);
    const { numUpdatedRows } = await db
      .updateTable(table as 'accounts')
      .set(row => ({
        [column]:
          state === 'cancelled'
            ? null
            : state === 'erased'
              ? due
              : row.fn.coalesce(row.ref(column as 'deletion_scheduled_at'), row.val(at)),
      }))
      .where('id', '=', id)
      .where('created_at', '<=', since.toISOString())
      .where('erasure_began_at', 'is', null)
      .executeTakeFirst();
    count += Number(numUpdatedRows);
  }
  return count;
}
