import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { AuditActor } from '../../observability/audit-entries.ts';
import { lockAccount } from '../accounts/find-account.ts';
import type { Administration } from '../administration.ts';
import type { SessionTerms } from '../sign-in/session.ts';
import { type StartedSession, startSession } from '../sign-in/start-session.ts';
import { createIdentityUser } from '../users/edit-user.ts';
import { findUser } from '../users/find-user.ts';
import { findIdentity, insertIdentity, type KnownIdentity, type OneIdentity } from './find-identity.ts';
import { joinWithIdentity, mayJoinWithIdentity } from './join-with-identity.ts';

/**
 * A person who signs in, as described by a provider of an account or by the application that embeds the account's
 * boards.
 */
export interface AssertedIdentity extends OneIdentity {
  /** The e-mail address. Null if the provider has reported none. */
  address: string | null;
  isAddressVerified: boolean;
  /** The name that the person gets as a new user. */
  name: string;
  /** Whether the person may join the account even if the account's own setting does not allow it. */
  isAdmitted: boolean;
}

/**
 * Counts a new person whose e-mail address the person has not confirmed to this server. Returns whether the server may
 * send mails to the address. Without a limit, an account could send mails to any number of strangers.
 */
export type MayMail = (db: Queryable) => Promise<boolean>;

/**
 * Why the server refuses to sign a person in:
 * - unverified_address: the provider has not verified the address of a new person.
 * - may_not_join: the person is not a member, and the account does not let them join.
 * - blocked: the user is blocked or is being erased.
 */
export type IdentityRefusal = 'unverified_address' | 'may_not_join' | 'blocked';

/**
 * The result of a sign-in through an identity provider:
 * - A started session, or a challenge for a user with a second factor. The session reaches only the account of the
 *   identity.
 * - mustConfirm: an existing user has the address, so nobody is signed in. This user must first sign in without a
 *   provider and connect the identity (see connectIdentity).
 * - refused: the server refuses to sign the person in.
 */
export type IdentitySignIn =
  | ({ userId: number; identityId: number } & StartedSession)
  | { mustConfirm: { userId: number; email: string } }
  | { refused: IdentityRefusal; userId?: number };

const updateIdentity = query(
  'update_identity_use',
  (db, $: Arguments<{ accountId: number; identityId: number; address: string | null; now: Date }>) =>
    db
      .updateTable('identities')
      .set(i => ({ last_used_at: $.now, address: i.fn.coalesce($.address, 'address') }))
      .where(i => i.and({ account_id: $.accountId, id: $.identityId })),
);

/**
 * Signs a person in with an external identity of an account: a person at one of its providers, or in the application
 * that embeds its boards. The caller has checked the provider's answer. The session reaches only this account, because
 * other accounts do not trust the provider.
 *
 * For a new person, the server creates a user who can sign in only with this identity. A person who is not a member
 * becomes a member if the account lets them join.
 *
 * Call this function in a transaction. If several calls for the same new person run at the same time, only the first
 * creates the user. The other calls wait for the lock of the account, and then sign in the same user.
 */
export async function signInWithIdentity(
  adminAs: (actor: AuditActor) => Administration,
  asserted: AssertedIdentity,
  terms: SessionTerms,
  mayMail: MayMail,
): Promise<IdentitySignIn> {
  const server = adminAs({ by: 'server' });
  const { accountId } = asserted;
  const address = asserted.isAddressVerified ? asserted.address : null;
  let known = await findIdentity(server, asserted);
  if (!known?.is_member) {
    // Locks the account before the user. All changes of members take the locks in this order, which prevents deadlocks.
    await lockAccount(server, accountId);
    known = await findIdentity(server, asserted);
  }
  const identity = known ?? (await welcome(server, asserted, mayMail));
  if (!('id' in identity)) return identity;
  const { id: identityId, user_id: userId } = identity;
  if (identity.is_blocked) return { refused: 'blocked', userId };
  if (!identity.is_member) {
    if (!(await mayJoinWithIdentity(server, { ...asserted, address }))) return { refused: 'may_not_join', userId };
    await joinWithIdentity(adminAs({ by: 'user', by_user_id: userId }), { accountId, userId });
  }
  const boundTo = { accountId, identityId };
  await server.query(updateIdentity, { ...boundTo, address, now: server.now });
  const started = await startSession(server, { id: userId, set_at: null, boundTo }, terms);
  return started ? { userId, identityId, ...started } : { refused: 'blocked', userId };
}

/**
 * Creates a user for a new person, and the external identity that connects this user to the person at the provider.
 * Creates nothing if the person may not join, or if an existing user has the e-mail address.
 */
async function welcome(
  server: Administration,
  asserted: AssertedIdentity,
  mayMail: MayMail,
): Promise<KnownIdentity | Exclude<IdentitySignIn, { identityId: number }>> {
  const { address, name } = asserted;
  if (address !== null && !asserted.isAddressVerified) return { refused: 'unverified_address' };
  const owner = address === null ? undefined : await findUser(server, address);
  if (owner?.email) return { mustConfirm: { userId: owner.id, email: owner.email } };
  if (!(await mayJoinWithIdentity(server, asserted))) return { refused: 'may_not_join' };
  const notificationEmail = address !== null && (await mayMail(server)) ? address : null;
  const { id: userId } = await createIdentityUser(server, { name, notificationEmail });
  const id = await insertIdentity(server, asserted, { userId, address }, 'identity.created');
  return { id, user_id: userId, is_member: false, is_blocked: false };
}
