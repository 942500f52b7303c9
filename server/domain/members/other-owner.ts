import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { activeMemberships } from './active-memberships.ts';

const selectOtherOwner = query('select_other_owner', (db, $: Arguments<{ accountId: number; userId: number }>) =>
  activeMemberships(db, $.accountId)
    .select('m.user_id')
    .where('m.user_id', '<>', $.userId)
    .where('m.role', '=', 'owner')
    .limit(1),
);

/** Whether an account has another owner than a user. Blocked owners do not count. */
export async function hasOtherOwner(
  db: Queryable,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<boolean> {
  return (await db.query(selectOtherOwner, { accountId, userId })).length > 0;
}
