import { type Expression, expressionBuilder, type Kysely } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { type Role, roles } from '../../entities/membership.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';

/** The ids of a user and an account. The user does not have to be a member of the account. */
export interface UserInAccount {
  accountId: number;
  userId: number;
}

export function isBlocked(accountId: Expression<number>, userId: Expression<number>) {
  const eb = expressionBuilder<Tables>();
  return eb.exists(
    eb.selectFrom('user_blocks as b').where(b => b.and({ 'b.account_id': accountId, 'b.user_id': userId })),
  );
}

/** Selects the memberships of an account, except those of blocked users, who have no rights. The SQL alias is `m`. */
export function activeMemberships(db: Kysely<Tables>, accountId: Expression<number>) {
  return db
    .selectFrom('memberships as m')
    .where('m.account_id', '=', accountId)
    .where(m => m.not(isBlocked(accountId, m.ref('m.user_id'))));
}

/** The rights of the acting user to give, change and take away roles in an account. */
interface Authority {
  require(...roles: Role[]): void;
}

const selectActiveRole = query('select_active_role', (db, $: Arguments<UserInAccount>) =>
  activeMemberships(db, $.accountId).select('m.role').where('m.user_id', '=', $.userId),
);

/** Returns undefined for a blocked member and for a user who is not a member. */
export async function readActiveRole(db: Queryable, user: UserInAccount): Promise<Role | undefined> {
  const [member] = await db.query(selectActiveRole, user);
  return member?.role;
}

/**
 * Locks the members of an account, and then reads the acting user's right to manage roles. Without the lock, another
 * transaction could still change this right. The operator of the server, and the server itself, may manage all roles.
 */
export async function lockMembers(admin: Administration, accountId: number): Promise<Authority> {
  await lockAccount(admin, accountId);
  const userId = actingUserOf(admin);
  if (userId === null) return { require() {} };
  const own = await readActiveRole(admin, { accountId, userId });
  return {
    require(...roles) {
      if (roles.every(role => own && mayManage(own, role))) return;
      const message = own === 'admin' ? t('refusals.member.owner_only') : t('refusals.member.admins_only');
      throw new AdministrationError('forbidden', message);
    },
  };
}

/** Owners manage all roles, and admins manage all roles except owner. Moderators and members manage none. */
export function mayManage(own: Role, role: Role): boolean {
  return own === 'owner' || (own === 'admin' && role !== 'owner');
}

/** Returns the rule of mayManage as an SQL condition. */
export function mayManageIn(own: Expression<Role>, role: Expression<Role>) {
  const eb = expressionBuilder<Tables>();
  const pairs = roles.flatMap(one =>
    roles.filter(other => mayManage(one, other)).map(other => eb.tuple(eb.val(one), eb.val(other))),
  );
  return eb(eb.refTuple(own, role), 'in', pairs);
}

const selectOtherOwner = query('select_other_owner', (db, $: Arguments<UserInAccount>) =>
  activeMemberships(db, $.accountId)
    .select('m.user_id')
    .where('m.user_id', '<>', $.userId)
    .where('m.role', '=', 'owner')
    .limit(1),
);

/** Whether an account has an owner other than the given user. Blocked owners do not count. */
export async function hasOtherOwner(db: Queryable, { accountId, userId }: UserInAccount): Promise<boolean> {
  return (await db.query(selectOtherOwner, { accountId, userId })).length > 0;
}
