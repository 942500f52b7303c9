import { createHash } from 'node:crypto';
import type { Config } from '../../config.ts';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import { t } from '../../text/catalogue.ts';
import { currentLanguage } from '../../text/language.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkEmail } from '../fields.ts';
import { buildSigner } from '../signer.ts';
import { updateUser } from './edit-user.ts';
import { lockUser } from './find-user.ts';

/** The field of a user that contains the e-mail address for the sign-in or for notifications. */
export type AddressField = 'email' | 'notification_email';

export interface AddressChange {
  userId: number;
  field: AddressField;
  address: string;
  /**
   * The digest of the user's e-mail address when the user asked for the change (see basisOf). The link works only as
   * long as the digest is the same.
   */
  basis: string;
}

/**
 * The tokens in the links that confirm an e-mail address. A token contains the change and a signature. The database
 * does not store the token.
 */
export interface AddressTokens {
  make(change: AddressChange, expiresAt: Date): string;
  read(token: string, now: Date): AddressChange | undefined;
}

/**
 * The format of a token: `<field>.<user>.<expiry in seconds>.<basis>.<address>.<signature>`. The last three parts are in
 * base64url.
 */
export function buildAddressTokens(appKey: Uint8Array): AddressTokens {
  const signer = buildSigner(appKey, 'address');
  return {
    make({ field, userId, basis, address }, expiresAt) {
      const end = Math.floor(expiresAt.getTime() / 1000);
      return signer.sign(`${field}.${userId}.${end}.${basis}.${Buffer.from(address).toString('base64url')}`);
    },
    read(token, now) {
      const [field, userId, end, basis = '', address = ''] = signer.read(token)?.split('.') ?? [];
      if (field === undefined || Number(end) * 1000 <= now.getTime()) return undefined;
      return {
        field: field as AddressField,
        userId: Number(userId),
        basis,
        address: Buffer.from(address, 'base64url').toString(),
      };
    },
  };
}

/** Returns the link that confirms an e-mail address. Only a signed-in user can open the page behind this link. */
export function addressUrl({ BASE_URL }: Pick<Config, 'BASE_URL'>, token: string): string {
  return `${BASE_URL}/admin/profile/confirm?token=${token}`;
}

/** A confirmation link works for this number of hours, because people open some mailboxes only once a day. */
export const addressLinkHours = 24;

/**
 * The maximum number of attempts to send the confirmation mail. The number is small, because a late mail is useless.
 */
const maxAttempts = 5;

/**
 * Queues a mail with a confirmation link to the new e-mail address of a user. The old address stays until the user
 * confirms the new one, because the new address may belong to another person.
 *
 * If the sign-in address is to change, the present address also gets a notice, so that its owner can prevent the
 * change. Returns false if the user has the address already.
 */
export async function requestAddress(
  admin: Administration,
  { userId, field, address }: { userId: number; field: AddressField; address: string },
): Promise<boolean> {
  const email = checkEmail(address);
  const user = await lockUser(admin, userId);
  if (email === (field === 'email' ? user.email : user.notificationEmail)) return false;
  const asked = { user_id: userId, language: currentLanguage() };
  const payload = { ...asked, field, address: email, basis: await basisOf(admin, userId, field) };
  await addJob(admin, { task: 'mail_address_link', payload, maxAttempts });
  if (field === 'email') await addJob(admin, { task: 'mail_address_notice', payload: asked, maxAttempts });
  admin.audit.record('user.address_requested', { user_id: userId, field, email });
  return true;
}

/**
 * Sets an e-mail address that the user has confirmed through a link. Rejects the link if the user's present address has
 * changed since the request. Also rejects a link for the sign-in address if the user's password has changed since the
 * request.
 */
export async function confirmAddress(admin: Administration, change: AddressChange): Promise<void> {
  const user = await lockUser(admin, change.userId);
  if (!(await isAddressWanted(admin, change))) {
    throw new AdministrationError('not_found', t('refusals.link.used_or_outdated'));
  }
  const { field, address } = change;
  await updateUser(admin, user, field === 'email' ? { email: address } : { notificationEmail: address });
}

/**
 * Whether the digest is still the same as when the user asked for the change (see basisOf). A link works only once,
 * because the first use changes the address and so the digest.
 */
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

/**
 * Returns a digest of the user's present e-mail address in one field. The digest for the sign-in address also changes
 * with the user's password.
 */
async function basisOf(db: Pick<Administration, 'query'>, userId: number, field: AddressField): Promise<string> {
  const [user] = await db.query(selectBasis, { userId });
  const parts = field === 'email' ? [user?.email, user?.set_at] : [user?.notification_email];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
