import type { Queryable } from '../../database/database.ts';
import { type Graces, listDue } from '../../domain/erasure/clean-up.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

/**
 * Finds accounts and users that are due for erasure. The command `cleanup` erases them, but the operator may have
 * forgotten to schedule this command.
 */
export async function diagnoseErasure(database: Queryable, graces: Graces): Promise<Finding> {
  const { accounts, users: dueUsers } = await listDue(database, graces, new Date());
  const users = dueUsers.filter(({ held_by }) => held_by.length === 0);
  const begun = [...accounts, ...users].filter(({ is_begun }) => is_begun).length;
  if (accounts.length + users.length === 0) return ok('No deletion is overdue');
  const unfinished = begun > 0 ? `; ${begun} of them are partly erased` : '';
  return warning(
    `The grace period of ${accounts.length} account(s) and ${users.length} user(s) is over${unfinished}`,
    `Erase them: ${invocation} cleanup; see docs/erasure.md to schedule it`,
  );
}
