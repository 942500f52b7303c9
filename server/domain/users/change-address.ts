import { createHash } from 'node:crypto';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { AddressChange, AddressField } from '../../events/people/address-token.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkEmail } from '../fields.ts';
import { lockUser } from './find-user.ts';
import { updateUser } from './update-user.ts';

/** How long a link to confirm an address works: until somebody has looked into a mailbox that they seldom open. */
export const addressLinkHours = 24;

/** Few: a mail that comes much later than it was asked for is of no use. */
const maxAttempts = 5;

/**
 * Leaves it to a worker to mail a link to an address that a user wants to have. Until they confirm it nothing changes, so
 * that nobody signs in with, or is told things at, an address that somebody else reads. Whoever reads the address with
 * which they sign in now is told, and may put an end to it. Answers whether it is another address than the one there is.
 */
export async function requestAddress(
  admin: Administration,
  { userId, field, address }: { userId: number; field: AddressField; address: string },
): Promise<boolean> {
  const email = checkEmail(address);
  const user = await lockUser(admin, userId);
  if (email === (field === 'email' ? user.email : user.notificationEmail)) return false;
  const payload = { user_id: userId, field, address: email, basis: await basisOf(admin, userId, field) };
  await addJob(admin, { task: 'mail_address_link', payload, maxAttempts });
  if (field === 'email')
    await addJob(admin, { task: 'mail_address_notice', payload: { user_id: userId }, maxAttempts });
  admin.audit.record('user.address_requested', { user_id: userId, field, email });
  return true;
}

/** Sets an address that was confirmed by a link, where the user has still what they had when they asked. */
export async function confirmAddress(admin: Administration, change: AddressChange): Promise<void> {
  const user = await lockUser(admin, change.userId);
  if (!(await isAddressWanted(admin, change))) {
    throw new AdministrationError('not_found', 'The link was used already, or something changed since');
  }
  const { field, address } = change;
  await updateUser(admin, user, field === 'email' ? { email: address } : { notificationEmail: address });
}

/** Whether a link may still be used: not after it was, nor after what it changes was changed otherwise. */
export async function isAddressWanted(
  db: Pick<Administration, 'query'>,
  { userId, field, basis }: AddressChange,
): Promise<boolean> {
  return (await basisOf(db, userId, field)) === basis;
}

const selectBasis = query('select_basis_of_address', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('users as u')
    .leftJoin('sign_in_methods as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.kind', '=', 'password'))
    .select(['u.email', 'u.notification_email', 'm.updated_at as set_at'])
    .where('u.id', '=', $.userId)
    .where('u.erasure_began_at', 'is', null),
);

/** The address as it is. Whoever sets another password puts an end to what was asked for with the one before, too. */
async function basisOf(db: Pick<Administration, 'query'>, userId: number, field: AddressField): Promise<string> {
  const [user] = await db.query(selectBasis, { userId });
  const parts = field === 'email' ? [user?.email, user?.set_at] : [user?.notification_email];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
