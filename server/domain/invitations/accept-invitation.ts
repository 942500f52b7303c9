import { statement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import type { AuditActor } from '../../observability/audit-events.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { insertMember } from '../members/change-members.ts';
import { setPassword } from '../sign-in/set-password.ts';
import { type SessionTerms, startSession } from '../sign-in/start-session.ts';
import { createUser } from '../users/create-user.ts';
import { invitationStands } from './invitation-stands.ts';

interface TakenInvitation {
  id: number;
  account_id: number;
  email: string;
  role: Role;
}

/** Before the invitation, as a beginning erasure locks them, which then takes the invitation away. */
const lockUser = statement<never>('lock_accepting_user', 'select from users where id = $1 for key share');

/** Makes a user a member by an invitation to their address. It works once. */
export async function acceptInvitation(admin: Administration, linkHash: Buffer, userId: number): Promise<void> {
  await lockAccountOf(admin, linkHash);
  await admin.query(lockUser, [userId]);
  const invitation = await take(admin, linkHash, userId);
  await join(admin, invitation, userId);
}

/** Who signs up by an invitation: with the hash of a password that was checked. */
export interface NewUser {
  name: string;
  credential: string;
}

/**
 * Makes a user with the address of an invitation, which the link has proven, a member, and signs them in. Nobody acts
 * until there is the user: the server makes them, and they do the rest. Where the address has a user by now, nothing
 * happens: they sign in, and accept.
 */
export async function signUpByInvitation(
  adminAs: (actor: AuditActor) => Administration,
  linkHash: Buffer,
  { name, credential }: NewUser,
  terms: SessionTerms,
): Promise<{ userId: number; token: string }> {
  const server = adminAs({ by: 'server' });
  await lockAccountOf(server, linkHash);
  const invitation = await take(server, linkHash, null);
  const user = await createUser(server, { email: invitation.email, name });
  const admin = adminAs({ by: 'user', by_user_id: user.id });
  await setPassword(admin, user.id, credential);
  await join(admin, invitation, user.id);
  const token = await startSession(admin, { id: user.id, set_at: admin.now.toISOString() }, terms);
  if (token === undefined) throw new Error('Whoever has just signed up is not let in');
  return { userId: user.id, token };
}

async function join(admin: Administration, { id, account_id, role }: TakenInvitation, userId: number) {
  await insertMember(admin, { accountId: account_id, userId }, role);
  admin.audit.record('invitation.accepted', { account_id, invitation_id: id, user_id: userId, role });
}

const selectAccountId = statement<{ account_id: number }>(
  'select_account_of_invitation',
  'select account_id from invitations where token_hash = $1',
);

/** The account comes first, as with everything that changes its members. */
async function lockAccountOf(admin: Administration, linkHash: Buffer) {
  const [invitation] = await admin.query(selectAccountId, [linkHash]);
  if (!invitation) throw isOver();
  await lockAccount(admin, invitation.account_id);
}

/** Whoever takes the row first has it, and the others find the link used. */
const takeInvitation = statement<TakenInvitation>(
  'take_invitation',
  `delete from invitations i
  where i.token_hash = $1 and ${invitationStands('$2')}
    and ($3::bigint is null or exists (select from users u where u.id = $3 and u.canonical_email = i.canonical_email))
  returning i.id, i.account_id, i.email, i.role`,
);

async function take(admin: Administration, linkHash: Buffer, userId: number | null): Promise<TakenInvitation> {
  const [invitation] = await admin.query(takeInvitation, [linkHash, admin.now, userId]);
  if (!invitation) throw isOver();
  return invitation;
}

function isOver() {
  return new AdministrationError('not_found', 'The invitation was accepted or revoked already, or its time is over');
}
