import type { Database } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import type { Passwords } from './passwords.ts';
import type { ProvenUser } from './start-session.ts';

const selectOwnPassword = statement<{ credential: string; set_at: string }>(
  'select_own_password',
  `select credential, updated_at as set_at from sign_in_methods where user_id = $1 and kind = 'password'`,
);

/**
 * Compares with the password of somebody who is signed in already: before what would do harm in a browser that was left
 * open. Undefined where it is another one, or where they have none.
 */
export async function checkOwnPassword(
  { database, passwords }: { database: Database; passwords: Passwords },
  userId: number,
  password: string,
): Promise<ProvenUser | undefined> {
  const [method] = await database.query(selectOwnPassword, [userId]);
  const { isRight } = await passwords.verify(method?.credential, password);
  return method && isRight ? { id: userId, set_at: method.set_at } : undefined;
}
