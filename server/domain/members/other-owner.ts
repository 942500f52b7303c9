import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

const selectOtherOwner = statement<{ user_id: number }>(
  'select_other_owner',
  `select m.user_id from memberships m
  where m.account_id = $1 and m.user_id <> $2 and m.role = 'owner'
    and not exists (select from user_blocks b where b.account_id = m.account_id and b.user_id = m.user_id)
  limit 1`,
);

/** Whether an account has an owner beside a user: one who is not blocked, and so may act as one. */
export async function hasOtherOwner(
  db: Queryable,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<boolean> {
  return (await db.query(selectOtherOwner, [accountId, userId])).length > 0;
}
