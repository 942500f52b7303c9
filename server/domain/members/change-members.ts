import { Membership, type Role } from '../../entities/membership.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { explainViolations } from '../constraint-violation.ts';
import { hasOtherOwner } from './other-owner.ts';

/** A user in an account. */
export interface Member {
  accountId: number;
  userId: number;
}

export async function addMember(admin: Administration, { accountId, userId }: Member, role: Role): Promise<void> {
  admin.em.create(Membership, { accountId, userId, role, createdAt: admin.now });
  const violations = { ...userInErasure, memberships_pkey: 'The user is a member of the account already' };
  await explainViolations(violations, () => admin.em.flush());
  admin.audit.record('member.added', { ...describe({ accountId, userId }), role });
}

/** Gives a member another role. An account keeps an owner, so the last one cannot be demoted. */
export async function setMemberRole(admin: Administration, member: Member, role: Role): Promise<void> {
  const membership = await lockMembership(admin, member);
  if (role !== 'owner') await checkNotLastOwner(admin, membership, 'demoted');
  const { role: from } = membership;
  membership.role = role;
  await explainViolations(userInErasure, () => admin.em.flush());
  if (from !== role) admin.audit.record('member.role_changed', { ...describe(member), from, to: role });
}

/** Ends a membership. What the user wrote stays, and so do tokens that the user issued. */
export async function removeMember(admin: Administration, member: Member): Promise<void> {
  const membership = await lockMembership(admin, member);
  await checkNotLastOwner(admin, membership, 'removed');
  const { role } = membership;
  await admin.em.remove(membership).flush();
  admin.audit.record('member.removed', { ...describe(member), role });
}

/** Nobody whose erasure has begun becomes a member, and so an owner who would hold it up. */
export const userInErasure = {
  memberships_user_stays: 'The user is being erased',
  memberships_user_id_fkey: 'The user was erased',
};

function describe({ accountId, userId }: Member) {
  return { account_id: accountId, user_id: userId };
}

/** Two owners who remove each other at the same time: the second waits, and finds itself the last. */
async function lockMembership(admin: Administration, { accountId, userId }: Member): Promise<Membership> {
  await lockAccount(admin, accountId);
  const membership = await admin.em.findOne(Membership, { accountId, userId }, { refresh: true });
  if (!membership) throw new AdministrationError('not_found', 'The user is not a member of the account');
  return membership;
}

async function checkNotLastOwner(admin: Administration, membership: Membership, what: string) {
  if (membership.role !== 'owner') return;
  if (await hasOtherOwner(admin, membership)) return;
  throw new AdministrationError('conflict', `The last owner of an account cannot be ${what}: make another one first`);
}
