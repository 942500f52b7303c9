import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Passwords } from './passwords.ts';
import type { ProvenUser } from './start-session.ts';

const selectOwnPassword = query('select_own_password', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('sign_in_methods')
    .select(['credential', 'updated_at as set_at'])
    .where('user_id', '=', $.userId)
    .where('kind', '=', 'password'),
);

/**
 * Checks the password of a signed-in user before an action that would do harm in an unattended browser. Returns
 * undefined if the password is wrong or the user has none.
 */
export async function checkOwnPassword(
  { database, passwords }: { database: Database; passwords: Passwords },
  userId: number,
  password: string,
): Promise<ProvenUser | undefined> {
  const [method] = await database.query(selectOwnPassword, { userId });
  const { isRight } = await passwords.verify(method?.credential, password);
  return method && isRight ? { id: userId, set_at: method.set_at } : undefined;
}
