import { type Expression, expressionBuilder, type Kysely } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { type Role, roles } from '../../entities/membership.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';

/** Selects the memberships m of an account without those of blocked users. Only these give the rights of their role. */
export function activeMemberships(db: Kysely<Tables>, accountId: Expression<number>) {
  return db
    .selectFrom('memberships as m')
    .where('m.account_id', '=', accountId)
    .where(m =>
      m.not(
        m.exists(
          m
            .selectFrom('user_blocks as b')
            .where('b.account_id', '=', accountId)
            .whereRef('b.user_id', '=', 'm.user_id'),
        ),
      ),
    );
}

/** The roles that the actor may give, change and take away in an account. */
interface Authority {
  /** Refuses the actor if one of the roles is above their rights. */
  require(...roles: Role[]): void;
}

const selectActor = query('select_acting_member', (db, $: Arguments<{ accountId: number; userId: number }>) =>
  activeMemberships(db, $.accountId).select('m.role').where('m.user_id', '=', $.userId),
);

/**
 * Locks an account's members and then reads the actor's rights over them, which may have changed after the page was
 * opened. The operator of the server may do everything.
 */
export async function lockMembers(admin: Administration, accountId: number): Promise<Authority> {
  await lockAccount(admin, accountId);
  const userId = actingUserOf(admin);
  if (userId === null) return { require() {} };
  const [member] = await admin.query(selectActor, { accountId, userId });
  return {
    require(...roles) {
      const refused = roles.find(role => !member || !mayManage(member.role, role));
      if (refused !== undefined) throw new AdministrationError('forbidden', refusalOf(member?.role));
    },
  };
}

/** Owners manage all roles. Admins manage all roles but owners. Nobody else manages members. */
export function mayManage(own: Role, role: Role): boolean {
  return own === 'owner' || (own === 'admin' && role !== 'owner');
}

/** The same as a condition, in a query that has both roles. */
export function mayManageIn(own: Expression<Role>, role: Expression<Role>) {
  const eb = expressionBuilder<Tables>();
  const pairs = roles.flatMap(one =>
    roles.filter(other => mayManage(one, other)).map(other => eb.tuple(eb.val(one), eb.val(other))),
  );
  return eb(eb.refTuple(own, role), 'in', pairs);
}

function refusalOf(own: Role | undefined): string {
  return own === 'admin'
    ? 'Only an owner of the account makes somebody an owner, or changes or removes one'
    : 'Only owners and admins of the account manage its members';
}

const selectOtherOwner = query('select_other_owner', (db, $: Arguments<{ accountId: number; userId: number }>) =>
  activeMemberships(db, $.accountId)
    .select('m.user_id')
    .where('m.user_id', '<>', $.userId)
    .where('m.role', '=', 'owner')
    .limit(1),
);

/** Whether an account has another owner than a user. Blocked owners do not count. */
export async function hasOtherOwner(
  db: Queryable,
  { accountId, userId }: { accountId: number; userId: number },
): Promise<boolean> {
  return (await db.query(selectOtherOwner, { accountId, userId })).length > 0;
}
