import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { User } from '../../entities/user.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';
import { canonicalAddress } from './canonical-address.ts';

const selectUserByEmail = statement<{ id: number }>(
  'select_user_by_email',
  'select id from users where canonical_email = $1',
);

/** Finds a user by address, whatever its spelling. */
export async function findUser(admin: Administration, email: string): Promise<User | undefined> {
  const [row] = await admin.query(selectUserByEmail, [canonicalAddress(email)]);
  return row && (await admin.em.findOneOrFail(User, row.id));
}

/** By address, or by id: no address finds a user whose address an older user has in another spelling. */
export async function requireUser(admin: Administration, addressOrId: string): Promise<User> {
  const user = /^[0-9]{1,15}$/.test(addressOrId)
    ? await admin.em.findOne(User, { id: Number(addressOrId), isPlaceholder: false })
    : await findUser(admin, addressOrId);
  if (!user) throw new AdministrationError('not_found', `There is no user ${quote(addressOrId)}`);
  return user;
}

const lockUserToChange = statement<{ id: number }>(
  'lock_user_to_change',
  `select id from users where id = $1 and erasure_began_at is null and not is_placeholder for no key update`,
);

/** A user who changes something of themselves. Waits for a beginning erasure, and then finds nobody. */
export async function lockUser(admin: Administration, userId: number): Promise<User> {
  const [row] = await admin.query(lockUserToChange, [userId]);
  if (!row) throw new AdministrationError('not_found', 'The user is gone');
  return admin.em.findOneOrFail(User, row.id);
}

const selectSignInAddress = statement<{ email: string }>(
  'select_sign_in_address',
  'select email from users where id = $1 and erasure_began_at is null and email is not null',
);

/** The address with which a user signs in; undefined for one who is being erased. */
export async function readSignInAddress(db: Queryable, userId: number): Promise<string | undefined> {
  const [user] = await db.query(selectSignInAddress, [userId]);
  return user?.email;
}
