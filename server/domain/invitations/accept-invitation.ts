import { type Arguments, query } from '../../database/query.ts';
import { Invitation } from '../../entities/account.ts';
import type { AuditActor } from '../../observability/audit-entries.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { insertMember } from '../members/change-members.ts';
import type { SessionTerms } from '../sign-in/session.ts';
import { setPassword } from '../sign-in/set-password.ts';
import { startSession } from '../sign-in/start-session.ts';
import { createUser } from '../users/edit-user.ts';
import { type FollowedInvitation, readInvitation } from './open-invitations.ts';

const lockUser = query('lock_accepting_user', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('users').select('id').where('id', '=', $.userId).forKeyShare(),
);

/** Makes the user with the invited e-mail address a member. An invitation works only once. */
export async function acceptInvitation(admin: Administration, linkHash: Buffer, userId: number): Promise<void> {
  await join(admin, await takeInvitation(admin, linkHash, userId), userId);
}

export interface NewUser {
  name: string;
  credential: string;
}

/**
 * Creates a user with the invited e-mail address, makes the user a member, and signs the user in. The invitation link
 * has proven that the person owns the address.
 *
 * The audit log names the server as the creator of the user, and the new user as the actor of the other changes. If a
 * user with this address already exists, the call fails, and this user must sign in to accept the invitation.
 */
export async function signUpByInvitation(
  adminAs: (actor: AuditActor) => Administration,
  linkHash: Buffer,
  { name, credential }: NewUser,
  terms: SessionTerms,
): Promise<{ userId: number; token: string }> {
  const server = adminAs({ by: 'server' });
  const invitation = await takeInvitation(server, linkHash, null);
  const user = await createUser(server, { email: invitation.email, name });
  const admin = adminAs({ by: 'user', by_user_id: user.id });
  await setPassword(admin, user.id, credential);
  await join(admin, invitation, user.id);
  const started = await startSession(admin, { id: user.id, set_at: admin.now.toISOString() }, terms);
  if (!started || !('token' in started)) throw new Error('The new user cannot sign in');
  return { userId: user.id, token: started.token };
}

async function join(admin: Administration, { id, account_id, role }: FollowedInvitation, userId: number) {
  await insertMember(admin, { accountId: account_id, userId }, role);
  admin.audit.record('invitation.accepted', { account_id, invitation_id: id, user_id: userId, role });
}

/**
 * Deletes the invitation, so that its link works only once. The function first locks the account, like every change of
 * members. Then it locks the given user, whose address must be the invited address. The erasure of a user also locks
 * the user before it deletes the user's invitations.
 */
async function takeInvitation(
  admin: Administration,
  linkHash: Buffer,
  userId: number | null,
): Promise<FollowedInvitation> {
  const known = await readInvitation(admin, linkHash, admin.now);
  if (known) await lockAccount(admin, known.account_id);
  if (userId !== null) await admin.query(lockUser, { userId });
  const invitation = await readInvitation(admin, linkHash, admin.now);
  if (invitation && (userId === null || userId === invitation.user_id)) {
    const { id, account_id: accountId } = invitation;
    const deleted = await admin.em.nativeDelete(Invitation, { id, accountId });
    if (deleted > 0) return invitation;
  }
  throw new AdministrationError('not_found', t('refusals.invitation.used_or_expired'));
}
