import type { QueryBuilding } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { asRole, type Role, UserBlock } from '../../entities/membership.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { checkText } from '../fields.ts';
import { activeMemberships, hasOtherOwner } from '../members/authority.ts';
import { cutPage, type Place } from '../pagination.ts';
import { revokeTokensOf } from '../tokens/change-tokens.ts';

interface Blocking {
  accountId: number;
  userId: number;
}

/**
 * Blocks a user in an account: they can neither write nor open its pages, and their OAuth grants end for good. A second
 * call changes the reason, if it gives one. The operator of the server may block everybody but the last owner.
 */
export async function blockUser(admin: Administration, { accountId, userId }: Blocking, reason?: string) {
  const checked = reason === undefined ? undefined : checkText(reason, 0, 500, 'reason');
  // If two owners block each other at once, the second waits here and is then blocked.
  await lockAccount(admin, accountId);
  const role = await checkMayBlock(admin, { accountId, userId });
  if (role === 'owner' && !(await hasOtherOwner(admin, { accountId, userId }))) {
    throw new AdministrationError('conflict', 'The last owner of an account cannot be blocked: make another one first');
  }
  const known = await admin.em.findOne(UserBlock, { accountId, userId });
  const block = known ?? admin.em.create(UserBlock, { accountId, userId, createdAt: admin.now });
  if (checked !== undefined) block.reason = checked;
  await admin.em.flush();
  if (!known) admin.audit.record('user.blocked', { account_id: accountId, user_id: userId });
  await revokeTokensOf(admin, { accountId, userId }, ['oauth']);
}

/** Ends a block, if there is one. Everybody who may block a user may unblock them. */
export async function unblockUser(admin: Administration, { accountId, userId }: Blocking) {
  await lockAccount(admin, accountId);
  await checkMayBlock(admin, { accountId, userId });
  const ended = await admin.em.nativeDelete(UserBlock, { accountId, userId });
  if (ended > 0) admin.audit.record('user.unblocked', { account_id: accountId, user_id: userId });
}

/**
 * Whether a moderator's role is enough to block a person. The person's role is null if they are no member. Only an owner
 * blocks an owner, because a block keeps them out of the account as a removal does.
 */
export function mayBlock(moderator: Role | null, role: Role | null): boolean {
  if (moderator === 'owner') return true;
  if (moderator === 'admin') return role !== 'owner';
  return moderator === 'moderator' && role !== 'owner' && role !== 'admin';
}

const selectRoles = query(
  'select_roles_for_block',
  (db, $: Arguments<{ accountId: number; userId: number; moderatorId: number | null }>) =>
    db.selectNoFrom([
      db
        .selectFrom('memberships as m')
        .select('m.role')
        .where('m.account_id', '=', $.accountId)
        .where('m.user_id', '=', $.userId)
        .as('role'),
      activeMemberships(db, $.accountId).select('m.role').where('m.user_id', '=', $.moderatorId).as('moderator'),
    ]),
);

/** Refuses if the moderator's role is not enough. Returns the user's role. */
async function checkMayBlock(admin: Administration, { accountId, userId }: Blocking): Promise<Role | null> {
  const moderatorId = actingUserOf(admin);
  if (moderatorId === userId) throw new AdministrationError('forbidden', 'Nobody can block or unblock themselves');
  const [roles] = await admin.query(selectRoles, { accountId, userId, moderatorId });
  const { role = null, moderator = null } = roles ?? {};
  if (moderatorId !== null && !mayBlock(moderator, role)) {
    const person = role === null ? 'somebody' : asRole[role];
    throw new AdministrationError('forbidden', `Your role in the account is not enough to block ${person}`);
  }
  return role;
}

/** The role is null for a person who is no member. */
export type BlockView = Awaited<ReturnType<typeof listBlocks>>['rows'][number];

/** Lists the people who are blocked in an account, the newest block first. */
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
