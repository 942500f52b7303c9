import { sql } from 'kysely';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { AuditActor } from '../../observability/audit-entries.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { insertMember } from '../members/change-members.ts';
import { type SessionTerms, startSession } from '../sign-in/session.ts';
import { setPassword } from '../sign-in/set-password.ts';
import { createUser } from '../users/edit-user.ts';
import { invitationStands } from './open-invitations.ts';

/** Locks the user before the invitation. An erasure does so in the same order, and deletes the invitation. */
const selectUserLocked = query('lock_accepting_user', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('users').select('id').where('id', '=', $.userId).forKeyShare(),
);

/** Makes a user a member by an invitation to their address. It works once. */
export async function acceptInvitation(admin: Administration, linkHash: Buffer, userId: number): Promise<void> {
  const accountId = await lockAccountOf(admin, linkHash);
  await admin.query(selectUserLocked, { userId });
  const invitation = await take(admin, { accountId, linkHash, userId });
  await join(admin, invitation, userId);
}

/** A person who signs up by an invitation. The credential is the hash of a password that was checked. */
export interface NewUser {
  name: string;
  credential: string;
}

/**
 * Creates a user with the address of an invitation, makes them a member and signs them in. The link has proven the
 * address. In the audit log the server creates the user, and the user does the rest. If the address has a user by now,
 * the call fails: that user signs in and accepts.
 */
export async function signUpByInvitation(
  adminAs: (actor: AuditActor) => Administration,
  linkHash: Buffer,
  { name, credential }: NewUser,
  terms: SessionTerms,
): Promise<{ userId: number; token: string }> {
  const server = adminAs({ by: 'server' });
  const accountId = await lockAccountOf(server, linkHash);
  const invitation = await take(server, { accountId, linkHash, userId: null });
  const user = await createUser(server, { email: invitation.email, name });
  const admin = adminAs({ by: 'user', by_user_id: user.id });
  await setPassword(admin, user.id, credential);
  await join(admin, invitation, user.id);
  const token = await startSession(admin, { id: user.id, set_at: admin.now.toISOString() }, terms);
  if (token === undefined) throw new Error('Whoever has just signed up is not let in');
  return { userId: user.id, token };
}

type TakenInvitation = RowOf<typeof takeInvitation>;

async function join(admin: Administration, { id, account_id, role }: TakenInvitation, userId: number) {
  await insertMember(admin, { accountId: account_id, userId }, role);
  admin.audit.record('invitation.accepted', { account_id, invitation_id: id, user_id: userId, role });
}

/** Starts without an account, because only the link is known. */
const selectAccountId = query('select_account_of_invitation', (db, $: Arguments<{ linkHash: Buffer }>) =>
  db.selectFrom('invitations').select('account_id').where('token_hash', '=', $.linkHash),
);

/** Locks the account first, as every change of its members does. */
async function lockAccountOf(admin: Administration, linkHash: Buffer): Promise<number> {
  const [invitation] = await admin.query(selectAccountId, { linkHash });
  if (!invitation) throw isOver();
  await lockAccount(admin, invitation.account_id);
  return invitation.account_id;
}

/** The invitation of a link, and the user to whom it must be addressed. Null for a person without a user. */
interface Taking {
  accountId: number;
  linkHash: Buffer;
  userId: number | null;
}

/** Deletes the invitation, so that a link works once. */
const takeInvitation = query('take_invitation', (db, $: Arguments<Taking & { now: Date }>) =>
  db
    .deleteFrom('invitations as i')
    .where('i.account_id', '=', $.accountId)
    .where('i.token_hash', '=', $.linkHash)
    .where(i => invitationStands(i, db, $))
    .where(i => {
      const user = i.selectFrom('users as u').where('u.id', '=', $.userId);
      return i.or([
        i(sql`${$.userId}::bigint`, 'is', null),
        i.exists(user.whereRef('u.canonical_email', '=', 'i.canonical_email')),
      ]);
    })
    .returning(['i.id', 'i.account_id', 'i.email', 'i.role']),
);

async function take(admin: Administration, taking: Taking): Promise<TakenInvitation> {
  const [invitation] = await admin.query(takeInvitation, { ...taking, now: admin.now });
  if (!invitation) throw isOver();
  return invitation;
}

function isOver() {
  return new AdministrationError('not_found', 'The invitation was accepted or revoked already, or its time is over');
}
