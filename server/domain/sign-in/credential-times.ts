import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';

const selectTimes = query('select_credential_times', (db, $: Arguments<{ canonicalEmail: string }>) =>
  db
    .selectFrom('users as u')
    .leftJoin('sign_in_methods as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.kind', '=', 'password'))
    .leftJoin('second_factors as f', 'f.user_id', 'u.id')
    .select(['m.updated_at as password_set_at', 'f.created_at as second_factor_since'])
    .where('u.canonical_email', '=', $.canonicalEmail),
);

/**
 * Returns the times when the user with an e-mail address set the password and turned on two-factor sign-in. Returns
 * undefined if no user has the address.
 */
export async function readCredentialTimes(
  db: Queryable,
  canonicalEmail: string,
): Promise<RowOf<typeof selectTimes> | undefined> {
  const [times] = await db.query(selectTimes, { canonicalEmail });
  return times;
}
