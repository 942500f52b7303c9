import type { Queryable } from '../../database/database.ts';
import { dueTimes, type Graces, listDueAccounts, listDueUsers } from '../../domain/erasure/clean-up.ts';
import { findHolds } from '../../domain/erasure/request-deletion.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

/** The operator must schedule the clean-up. Without it the server deletes nothing. */
export async function diagnoseErasure(database: Queryable, graces: Graces): Promise<Finding> {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, new Date());
  const accounts = await listDueAccounts(database, accountsDueBefore);
  const accountIds = accounts.map(({ id }) => id);
  const users = [];
  for (const user of await listDueUsers(database, usersDueBefore)) {
    const holds = user.is_begun ? [] : await findHolds(database, user.id, accountIds);
    if (holds.length === 0) users.push(user);
  }
  const begun = [...accounts, ...users].filter(({ is_begun }) => is_begun).length;
  if (accounts.length + users.length === 0) return ok('No deletion is overdue');
  const unfinished = begun > 0 ? `; ${begun} of them are partly erased` : '';
  return warning(
    `The grace period of ${accounts.length} account(s) and ${users.length} user(s) is over${unfinished}`,
    `Erase them: ${invocation} cleanup; see docs/erasure.md to schedule it`,
  );
}
