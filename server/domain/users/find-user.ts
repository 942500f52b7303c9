import { statement } from '../../database/statement.ts';
import { User } from '../../entities/user.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

const selectUserByEmail = statement<{ id: number }>(
  'select_user_by_email',
  'select id from users where lower(email) = lower($1)',
);

/** Finds a user by address, whatever its case. */
export async function findUser(admin: Administration, email: string): Promise<User | undefined> {
  const [row] = await admin.query(selectUserByEmail, [email.trim()]);
  return row && (await admin.em.findOneOrFail(User, row.id));
}

export async function requireUser(admin: Administration, email: string): Promise<User> {
  const user = await findUser(admin, email);
  if (!user) throw new AdministrationError('not_found', `There is no user ${quote(email)}`);
  return user;
}
