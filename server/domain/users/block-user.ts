import type { QueryBuilding } from '../../database/database.ts';
import { Membership, type Role, UserBlock } from '../../entities/membership.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, actingPersonOf, actingUserOf } from '../administration.ts';
import { checkText } from '../fields.ts';
import { hasOtherOwner, readActiveRole, type UserInAccount } from '../members/authority.ts';
import { cutPage, type Place } from '../pagination.ts';
import { revokeTokensOf } from '../tokens/change-tokens.ts';

/**
 * Blocks a user in an account. A blocked user can neither write in the account nor open its administration pages. The
 * user's OAuth grants in the account end for good.
 *
 * If the user is blocked already, a call with a reason replaces the old reason. The operator of the server may block
 * everybody except the last owner.
 */
export async function blockUser(admin: Administration, { accountId, userId }: UserInAccount, reason?: string) {
  const checked = reason === undefined ? undefined : checkText(reason, 0, 500, 'reason');
  // If two owners block each other at the same time, the second operation waits here. It then fails, because its acting
  // user is already blocked.
  await lockAccount(admin, accountId);
  const role = await checkMayBlock(admin, { accountId, userId });
  if (role === 'owner' && !(await hasOtherOwner(admin, { accountId, userId }))) {
    throw new AdministrationError('conflict', t('refusals.block.last_owner'));
  }
  const known = await admin.em.findOne(UserBlock, { accountId, userId });
  const block = known ?? admin.em.create(UserBlock, { accountId, userId, createdAt: admin.now });
  if (checked !== undefined) block.reason = checked;
  await admin.em.flush();
  if (!known) admin.audit.record('user.blocked', { account_id: accountId, user_id: userId });
  await revokeTokensOf(admin, { accountId, userId }, ['oauth']);
}

/**
 * Unblocks a user. Does nothing if the user is not blocked. A moderator needs the same role to unblock a user as to
 * block the user.
 */
export async function unblockUser(admin: Administration, { accountId, userId }: UserInAccount) {
  await lockAccount(admin, accountId);
  await checkMayBlock(admin, { accountId, userId });
  const ended = await admin.em.nativeDelete(UserBlock, { accountId, userId });
  if (ended > 0) admin.audit.record('user.unblocked', { account_id: accountId, user_id: userId });
}

/**
 * Whether a moderator's role is high enough to block a user with the given role. The role of a non-member is null. Only
 * an owner may block an owner, because a blocked user loses all access to the account, like a removed member.
 */
export function mayBlock(moderator: Role | undefined, role: Role | null): boolean {
  if (moderator === 'owner') return true;
  if (moderator === 'admin') return role !== 'owner';
  return moderator === 'moderator' && role !== 'owner' && role !== 'admin';
}

async function checkMayBlock(admin: Administration, { accountId, userId }: UserInAccount): Promise<Role | null> {
  const moderatorId = actingUserOf(admin);
  if (actingPersonOf(admin) === userId) {
    throw new AdministrationError('forbidden', t('refusals.block.oneself'));
  }
  const member = await admin.em.findOne(Membership, { accountId, userId }, { refresh: true });
  const role = member?.role ?? null;
  if (moderatorId === null || mayBlock(await readActiveRole(admin, { accountId, userId: moderatorId }), role))
    return role;
  throw new AdministrationError('forbidden', t(`refusals.block.low_role_for_${role ?? 'others'}`));
}

/** A blocked user. The role is null if the user is not a member. */
export type BlockView = Awaited<ReturnType<typeof listBlocks>>['rows'][number];

export async function listBlocks({ db }: QueryBuilding, accountId: number, place: Place) {
  const { cursor, perPage } = place;
  const rows = await db
    .selectFrom('user_blocks as b')
    .innerJoin('users as u', 'u.id', 'b.user_id')
    .leftJoin('memberships as m', join => join.on('m.account_id', '=', accountId).onRef('m.user_id', '=', 'b.user_id'))
    .select(['b.user_id', 'u.name', 'm.role', 'b.reason', 'b.created_at'])
    .where('b.account_id', '=', accountId)
    .$if(cursor !== undefined, blocks =>
      blocks.where(b => b(b.refTuple('b.created_at', 'b.user_id'), '<', b.tuple(String(cursor?.key), cursor?.id ?? 0))),
    )
    .orderBy('b.created_at', 'desc')
    .orderBy('b.user_id', 'desc')
    .limit(perPage + 1)
    .execute();
  return cutPage(rows, place, block => ({ sort: 'newest', key: block.created_at, id: block.user_id }));
}
