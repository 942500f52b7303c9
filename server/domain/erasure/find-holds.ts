import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

/** Starts from a person, who may own any accounts. */
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
 * Returns the reasons that prevent the erasure of a user: an owner of an account, other than the given ones, or an
 * operator of the server. Each reason completes the sentence "The user is …".
 */
export async function findHolds(
  database: Queryable,
  userId: number,
  goingAccountIds: readonly number[] = [],
): Promise<string[]> {
  const rows = await database.query(selectHolds, { userId });
  const owned = rows.filter(({ account_id: id }) => id !== null && !goingAccountIds.includes(id));
  return [...(rows[0]?.is_operator ? ['operator of the server'] : []), ...owned.map(({ slug }) => `owner of ${slug}`)];
}
