import type { Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { dueTimes, type Graces } from '../../domain/erasure/clean-up.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

/** The operator must schedule the clean-up. Without it the server deletes nothing. */
export async function diagnoseErasure(db: Kysely<Tables>, graces: Graces): Promise<Finding> {
  const { accounts, users, begunAccounts, begunUsers } = await countDue(db, graces);
  const begun = begunAccounts + begunUsers;
  if (accounts + users === 0) return ok('No deletion is overdue');
  const unfinished = begun > 0 ? `; ${begun} of them are partly erased` : '';
  return warning(
    `The grace period of ${accounts} account(s) and ${users} user(s) is over${unfinished}`,
    `Erase them: ${invocation} cleanup; see docs/erasure.md to schedule it`,
  );
}

/** Leaves out users whose erasure waits because they are owners or operators. */
function countDue(db: Kysely<Tables>, graces: Graces) {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, new Date());
  const accounts = db.selectFrom('accounts').select(({ fn }) => fn.countAll<number>().as('count'));
  const users = db.selectFrom('users as u').select(({ fn }) => fn.countAll<number>().as('count'));
  const begunAccounts = accounts
    .where('deletion_scheduled_at', 'is not', null)
    .where('erasure_began_at', 'is not', null);
  const begunUsers = users.where('deletion_requested_at', 'is not', null).where('erasure_began_at', 'is not', null);
  const dueUsers = users
    .where('deletion_requested_at', '<=', usersDueBefore.toISOString())
    .where('is_operator', '=', false)
    .where(({ exists, not, selectFrom }) =>
      not(exists(selectFrom('memberships as m').whereRef('m.user_id', '=', 'u.id').where('m.role', '=', 'owner'))),
    );
  return db
    .selectNoFrom([
      accounts
        .where('deletion_scheduled_at', '<=', accountsDueBefore.toISOString())
        .$asScalar()
        .$notNull()
        .as('accounts'),
      dueUsers.$asScalar().$notNull().as('users'),
      begunAccounts.$asScalar().$notNull().as('begunAccounts'),
      begunUsers.$asScalar().$notNull().as('begunUsers'),
    ])
    .executeTakeFirstOrThrow();
}
