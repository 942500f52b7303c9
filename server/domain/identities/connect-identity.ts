import { Identity } from '../../entities/identity.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { lockUser } from '../users/find-user.ts';
import { findIdentity, insertIdentity, type OneIdentity } from './find-identity.ts';
import { joinWithIdentity, mayJoinWithIdentity } from './join-with-identity.ts';
import { hasOwnAddress } from './own-address.ts';

/** A new identity whose address belongs to an existing user. */
export interface Connection extends OneIdentity {
  userId: number;
}

/**
 * Connects an identity to an existing user, who has confirmed it in an ordinary session. From now on, the identity signs
 * in as this user in its account. The user becomes a member if the account lets them join.
 */
export async function connectIdentity(
  admin: Administration,
  { userId, ...identity }: Connection,
  { isAdmitted }: { isAdmitted: boolean },
): Promise<void> {
  const { accountId } = identity;
  await lockAccount(admin, accountId);
  const { email: address = null } = await lockUser(admin, userId);
  const known = await findIdentity(admin, identity);
  if (known && known.user_id !== userId) {
    throw new AdministrationError('conflict', t('identities.problems.other_user'));
  }
  if (!known) await insertIdentity(admin, identity, { userId, address }, 'identity.connected');
  const now = await findIdentity(admin, identity);
  if (!now || now.is_member || now.is_blocked) return;
  if (await mayJoinWithIdentity(admin, { accountId, address, isAdmitted })) {
    await joinWithIdentity(admin, { accountId, userId });
  }
}

/**
 * Removes an identity of a user. This also ends the sessions that it began. A user without an address of their own
 * keeps the identity, because they have no other way to sign in.
 */
export async function disconnectIdentity(
  admin: Administration,
  { accountId, identityId, userId }: { accountId: number; identityId: number; userId: number },
): Promise<void> {
  const user = await lockUser(admin, userId);
  if (!hasOwnAddress({ email: user.email ?? '' })) {
    throw new AdministrationError('conflict', t('identities.problems.only_sign_in'));
  }
  const identity = await admin.em.findOne(Identity, { accountId, id: identityId, userId });
  if (!identity) throw new AdministrationError('not_found', t('identities.connections.gone'));
  await admin.em.remove(identity).flush();
  admin.audit.record('identity.removed', {
    account_id: accountId,
    identity_id: identityId,
    provider_id: identity.providerId ?? null,
    user_id: userId,
  });
}
