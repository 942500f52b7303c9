import { type Arguments, query } from '../../database/query.ts';
import { Membership, type Role } from '../../entities/membership.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, actingUserOf, explainViolations } from '../administration.ts';
import { setPicture } from '../pictures/pictures.ts';
import { revokeTokensOf } from '../tokens/change-tokens.ts';
import { hasOtherOwner, lockMembers, type UserInAccount } from './authority.ts';

/** Makes a user a member, and deletes the invitation to the user's e-mail address. */
export async function addMember(admin: Administration, member: UserInAccount, role: Role): Promise<void> {
  const authority = await lockMembers(admin, member.accountId);
  authority.require(role);
  await insertMember(admin, member, role);
}

const deleteInvitation = query('delete_invitation_of_member', (db, $: Arguments<UserInAccount>) =>
  db
    .deleteFrom('invitations as i')
    .using('users as u')
    .where(i => i.and({ 'u.id': $.userId, 'i.account_id': $.accountId }))
    .whereRef('i.canonical_email', '=', 'u.canonical_email'),
);

/** Makes a user a member, without checking the acting user's role. The caller must hold the lock of the account. */
export async function insertMember(
  admin: Administration,
  { accountId, userId }: UserInAccount,
  role: Role,
): Promise<void> {
  admin.em.create(Membership, { accountId, userId, role, createdAt: admin.now });
  const violations = { ...userInErasure(), memberships_pkey: t('refusals.member.already') };
  await explainViolations(violations, () => admin.em.flush());
  await admin.query(deleteInvitation, { accountId, userId });
  admin.audit.record('member.added', { ...describe({ accountId, userId }), role });
}

/** Gives a member another role. The last owner cannot get a lower role, because an account always needs an owner. */
export async function setMemberRole(admin: Administration, member: UserInAccount, role: Role): Promise<void> {
  const authority = await lockMembers(admin, member.accountId);
  const membership = await requireMembership(admin, member);
  const { role: from } = membership;
  authority.require(from, role);
  if (role !== 'owner') await checkNotLastOwner(admin, membership, 'demoted');
  membership.role = role;
  await explainViolations(userInErasure(), () => admin.em.flush());
  if (from !== role) admin.audit.record('member.role_changed', { ...describe(member), from, to: role });
}

/**
 * Ends a membership. Every member except the last owner may end their own membership. The user's ideas and comments
 * stay, and the invitations from the user stop working.
 *
 * The user's OAuth grants in the account end, because a grant acts in the user's name. API tokens belong to the
 * account, so the caller decides whether API tokens that the user issued keep working.
 */
export async function removeMember(
  admin: Administration,
  member: UserInAccount,
  { keepsTokens = false }: { keepsTokens?: boolean } = {},
): Promise<void> {
  const authority = await lockMembers(admin, member.accountId);
  const membership = await requireMembership(admin, member);
  const { role } = membership;
  if (actingUserOf(admin) !== member.userId) authority.require(role);
  await checkNotLastOwner(admin, membership, 'removed');
  await admin.em.remove(membership).flush();
  admin.audit.record('member.removed', { ...describe(member), role });
  await revokeTokensOf(admin, member, keepsTokens ? ['oauth'] : ['oauth', 'api']);
}

/**
 * Removes the picture of a member. The picture disappears in all accounts of the member. The acting user needs the
 * right to change the member's role. The audit entry contains the account in which the acting user has this right.
 */
export async function removePicture(admin: Administration, member: UserInAccount): Promise<void> {
  const authority = await lockMembers(admin, member.accountId);
  const { role } = await requireMembership(admin, member);
  authority.require(role);
  await setPicture(admin, member.userId, null, { account_id: member.accountId });
}

/** The error messages for a change that would make a user a member or an owner while the user is being erased. */
export function userInErasure() {
  return {
    memberships_user_stays: t('refusals.user.in_erasure'),
    memberships_user_id_fkey: t('refusals.user.erased'),
  };
}

function describe({ accountId, userId }: UserInAccount) {
  return { account_id: accountId, user_id: userId };
}

async function requireMembership(admin: Administration, { accountId, userId }: UserInAccount): Promise<Membership> {
  const membership = await admin.em.findOne(Membership, { accountId, userId }, { refresh: true });
  if (!membership) throw new AdministrationError('not_found', t('refusals.member.unknown'));
  return membership;
}

/** If the last two owners are removed at the same time, the second removal waits for the lock and then throws here. */
async function checkNotLastOwner(admin: Administration, membership: Membership, what: 'demoted' | 'removed') {
  if (membership.role !== 'owner' || (await hasOtherOwner(admin, membership))) return;
  throw new AdministrationError('conflict', t(`refusals.member.last_owner_${what}`));
}
