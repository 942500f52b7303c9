import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';

const selectHolds = plannedStatement<{ is_operator: boolean; owned: string[] }>(`
  select u.is_operator, array(
    select a.slug from memberships m join accounts a on a.id = m.account_id
    where m.user_id = u.id and m.role = 'owner' and a.id <> all ($2)
    order by a.slug
  ) as owned
  from users u where u.id = $1`);

/**
 * What keeps a user from being erased: owning an account, other than some that go anyway, or being an operator of the
 * server. Each in words that go on from 'is'.
 */
export async function findHolds(
  database: Queryable,
  userId: number,
  goingAccountIds: readonly number[] = [],
): Promise<string[]> {
  const [user] = await database.query(selectHolds, [userId, goingAccountIds]);
  if (!user) return [];
  return [...(user.is_operator ? ['operator of the server'] : []), ...user.owned.map(slug => `owner of ${slug}`)];
}
