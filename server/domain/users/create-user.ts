import { User } from '../../entities/user.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkEmail, checkName } from '../fields.ts';
import { canonicalAddress } from './canonical-address.ts';
import { findUser } from './find-user.ts';

export async function createUser(admin: Administration, input: { email: string; name: string }): Promise<User> {
  const email = checkEmail(input.email);
  const user = admin.em.create(User, {
    email,
    canonicalEmail: canonicalAddress(email),
    name: checkName(input.name, 100),
    createdAt: admin.now,
  });
  await explainViolations(emailTaken(email), () => admin.em.flush());
  admin.audit.record('user.created', { user_id: user.id, email });
  return user;
}

/** The user with the address; created, with the name, where there is none. */
export async function findOrCreateUser(admin: Administration, input: { email: string; name?: string }): Promise<User> {
  const { name } = input;
  const email = checkEmail(input.email);
  const user = await findUser(admin, email);
  if (user) return user;
  if (name === undefined) {
    throw new AdministrationError('invalid', `There is no user ${email} yet: give a name to create one`);
  }
  return createUser(admin, { email, name });
}

export function emailTaken(email: string) {
  const message = `Another user has the address ${email}`;
  return { users_canonical_email_key: message, users_email_key: message };
}
