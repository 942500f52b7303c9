import { type Expression, expressionBuilder } from 'kysely';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { type Role, roles } from '../../entities/membership.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { activeMemberships } from './active-memberships.ts';

/** Which roles whoever acts may give to others, change and take away in an account. */
export interface Authority {
  /** Refuses what is about a role that the actor may not give. */
  require(...roles: Role[]): void;
}

const selectActor = query('select_acting_member', (db, $: Arguments<{ accountId: number; userId: number }>) =>
  activeMemberships(db, $.accountId).select('m.role').where('m.user_id', '=', $.userId),
);

/**
 * Locks an account's members, and finds out what the actor may do with them: what was so when the page was opened may
 * be different when the lock is had. The operator of the server may do everything.
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

/** Owners manage everybody; admins everybody but owners, other admins too; nobody else anybody. */
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
