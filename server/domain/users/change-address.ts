import { createHash } from 'node:crypto';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkEmail } from '../fields.ts';
import type { AddressChange, AddressField } from './address-token.ts';
import { lockUser } from './find-user.ts';
import { updateUser } from './update-user.ts';

/** How long a link to confirm an address works: people open some mailboxes only once a day. */
export const addressLinkHours = 24;

/** Few, because a mail that arrives much later is of no use. */
const maxAttempts = 5;

/**
 * Lets a worker mail a link to an address that a user wants to have. Nothing changes until they confirm it, because the
 * address may belong to another person. A notice to the present sign-in address lets its reader stop the change. Returns
 * false if the user has the address already.
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

/** Sets an address that a link has confirmed, unless the user's data changed after the request (see basisOf). */
export async function confirmAddress(admin: Administration, change: AddressChange): Promise<void> {
  const user = await lockUser(admin, change.userId);
  if (!(await isAddressWanted(admin, change))) {
    throw new AdministrationError('not_found', 'The link was used already, or something changed since');
  }
  const { field, address } = change;
  await updateUser(admin, user, field === 'email' ? { email: address } : { notificationEmail: address });
}

/** Whether a link is still valid: it was not used, and the user's data did not change after the request (see basisOf). */
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

/** A digest of the present address. For the sign-in address a new password changes it, too, and so ends requests. */
async function basisOf(db: Pick<Administration, 'query'>, userId: number, field: AddressField): Promise<string> {
  const [user] = await db.query(selectBasis, { userId });
  const parts = field === 'email' ? [user?.email, user?.set_at] : [user?.notification_email];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
