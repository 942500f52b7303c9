import type { Transaction } from '../../server/database/database.ts';
import { type Administration, administrationIn } from '../../server/domain/administration.ts';
import type { AuditLog } from '../../server/observability/audit-log.ts';

const silent: AuditLog = { record() {} };

/**
 * Returns the context of an administrative operation by the server's operator. By default, audit entries are discarded.
 */
export function operatorIn(transaction: Transaction, now = new Date(), audit = silent): Administration {
  return administrationIn(transaction, { audit, actor: { by: 'operator' }, now });
}

/** Returns the context of an administrative operation by a user of the admin pages. */
export function userIn(transaction: Transaction, userId: number, now = new Date()): Administration {
  return administrationIn(transaction, { audit: silent, actor: { by: 'user', by_user_id: userId }, now });
}

/**
 * Returns the context of the same operation, run by this user. If the user id is null, returns the given context
 * unchanged.
 */
export function asUser(admin: Administration, userId: number | null): Administration {
  return userId === null ? admin : { ...admin, by: { by: 'user', by_user_id: userId } };
}
