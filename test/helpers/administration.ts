import type { Transaction } from '../../server/database/database.ts';
import { type Administration, administrationIn } from '../../server/domain/administration.ts';
import type { AuditLog } from '../../server/observability/audit-log.ts';

const silent: AuditLog = { record() {} };

/**
 * Returns the context for an administrative operation by the server's operator. By default, the audit entries are
 * discarded.
 */
export function operatorIn(transaction: Transaction, now = new Date(), audit = silent): Administration {
  return administrationIn(transaction, { audit, actor: { by: 'operator' }, now });
}

/** Returns the context for an administrative operation that a user performs on the admin pages. */
export function userIn(transaction: Transaction, userId: number, now = new Date()): Administration {
  return administrationIn(transaction, { audit: silent, actor: { by: 'user', by_user_id: userId }, now });
}

/**
 * Returns a copy of the context for the same operation, but with this user as the actor. If the user id is null,
 * returns the given context unchanged.
 */
export function asUser(admin: Administration, userId: number | null): Administration {
  return userId === null ? admin : { ...admin, by: { by: 'user', by_user_id: userId } };
}
