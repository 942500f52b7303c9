import { Identity } from '../../entities/identity.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { lockUser } from '../users/find-user.ts';
import { findIdentity, insertIdentity, type OneIdentity } from './find-identity.ts';
import { joinWithIdentity, mayJoinWithIdentity } from './join-with-identity.ts';
import { hasOwnAddress } from './own-address.ts';

/**
 * An external identity (a person at an identity provider or in the embedding application) that is not connected yet.
 * Its e-mail address belongs to the user `userId`.
 */
export interface Connection extends OneIdentity {
  userId: number;
}

/**
 * Connects an external identity (a person at a provider) to an existing user. The user has confirmed this while signed
 * in without a provider. After that, a sign-in with the identity signs in this user, in the account of the identity.
 * The user becomes a member if the account lets the user join.
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
 * Removes an external identity (a person at a provider) of a user, and ends the sessions that began with the identity.
 * If the user has no e-mail address of their own, the call fails, because the identity is the user's only way to sign
 * in.
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
