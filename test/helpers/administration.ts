import type { Transaction } from '../../server/database/database.ts';
import { type Administration, administrationIn } from '../../server/domain/administration.ts';
import type { AuditLog } from '../../server/observability/audit-log.ts';

const silent: AuditLog = { record() {} };

/** The context of an administrative operation by the operator. Drops audit entries by default. */
export function operatorIn(transaction: Transaction, now = new Date(), audit = silent): Administration {
  return administrationIn(transaction, { audit, actor: { by: 'operator' }, now });
}

/** The context of an administrative operation by a user of the pages. */
export function userIn(transaction: Transaction, userId: number, now = new Date()): Administration {
  return administrationIn(transaction, { audit: silent, actor: { by: 'user', by_user_id: userId }, now });
}

/** Changes the actor of a context to a user of the pages. Null leaves it unchanged. */
export function asUser(admin: Administration, userId: number | null): Administration {
  return userId === null ? admin : { ...admin, by: { by: 'user', by_user_id: userId } };
}
