import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

/** Searches all accounts, because a sign-in with a password or a mailed link belongs to no account. */
const selectNames = query('select_blocking_accounts', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('user_blocks as b')
    .innerJoin('accounts as a', 'a.id', 'b.account_id')
    .select('a.name')
    .where('b.user_id', '=', $.userId)
    .where('a.erasure_began_at', 'is', null)
    .orderBy(a => a.fn('lower', ['a.name'])),
);

/**
 * Returns the names of the accounts that block a user who may not sign in. Tell them only a person who has proven to be
 * this user.
 */
export async function readBlockingAccounts(db: Queryable, userId: number): Promise<string[]> {
  return (await db.query(selectNames, { userId })).map(({ name }) => name);
}
