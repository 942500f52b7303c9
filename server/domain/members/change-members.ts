import { Membership, type Role } from '../../entities/membership.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { explainViolations } from '../constraint-violation.ts';

/** A user in an account. */
export interface Member {
  accountId: number;
  userId: number;
}

export async function addMember(admin: Administration, { accountId, userId }: Member, role: Role): Promise<void> {
  admin.em.create(Membership, { accountId, userId, role, createdAt: admin.now });
  await explainViolations({ memberships_pkey: 'The user is a member of the account already' }, () => admin.em.flush());
}

/** Gives a member another role. An account keeps an owner, so the last one cannot be demoted. */
export async function setMemberRole(admin: Administration, member: Member, role: Role): Promise<void> {
  const membership = await lockMembership(admin, member);
  if (role !== 'owner') await checkNotLastOwner(admin, membership, 'demoted');
  membership.role = role;
  await admin.em.flush();
}

/** Ends a membership. What the user wrote stays, and so do tokens that the user issued. */
export async function removeMember(admin: Administration, member: Member): Promise<void> {
  const membership = await lockMembership(admin, member);
  await checkNotLastOwner(admin, membership, 'removed');
  await admin.em.remove(membership).flush();
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
  const owners = await admin.em.count(Membership, { accountId: membership.accountId, role: 'owner' });
  if (owners > 1) return;
  throw new AdministrationError('conflict', `The last owner of an account cannot be ${what}: make another one first`);
}
