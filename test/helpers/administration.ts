import type { Transaction } from '../../server/database/database.ts';
import { type Administration, administrationIn } from '../../server/domain/administration.ts';
import type { AuditLog } from '../../server/observability/audit-log.ts';

const silent: AuditLog = { record() {} };

/** What an administrative operation is given in a test: as for the operator, and without an audit log unless one is given. */
export function operatorIn(transaction: Transaction, now = new Date(), audit = silent): Administration {
  return administrationIn(transaction, { audit, actor: { by: 'operator' }, now });
}

/** The same for a person who acts in the pages. */
export function userIn(transaction: Transaction, userId: number, now = new Date()): Administration {
  return administrationIn(transaction, { audit: silent, actor: { by: 'user', by_user_id: userId }, now });
}

/** What somebody else was given, for a person who acts in the pages; as it was for null. */
export function asUser(admin: Administration, userId: number | null): Administration {
  return userId === null ? admin : { ...admin, by: { by: 'user', by_user_id: userId } };
}
