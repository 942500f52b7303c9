import type pg from 'pg';
import { dueTimes, type Graces } from '../../domain/erasure/clean-up.ts';
import { invocation } from '../command.ts';
import { type Finding, ok, warning } from './finding.ts';

interface DueCounts {
  accounts: number;
  users: number;
  begun: number;
}

/** Of the users, those who are not held by a role. */
const countDue = `
  select
    (select count(*) from accounts where deletion_scheduled_at <= $1)::int as accounts,
    (
      select count(*) from users u
      where u.deletion_requested_at <= $2 and not u.is_operator
        and not exists (select from memberships m where m.user_id = u.id and m.role = 'owner')
    )::int as users,
    (select count(*) from accounts where deletion_scheduled_at is not null and erasure_began_at is not null)::int
      + (select count(*) from users where deletion_requested_at is not null and erasure_began_at is not null)::int
      as begun`;

/** Nothing runs the clean-up by itself: who forgets it keeps what was to be deleted. */
export async function diagnoseErasure(client: pg.Client, graces: Graces): Promise<Finding> {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, new Date());
  const { rows } = await client.query<DueCounts>(countDue, [accountsDueBefore, usersDueBefore]);
  const { accounts, users, begun } = rows[0] ?? { accounts: 0, users: 0, begun: 0 };
  if (accounts + users === 0) return ok('Nobody waits for deletion beyond the grace');
  const unfinished = begun > 0 ? `; the erasure of ${begun} has begun and is not at its end` : '';
  return warning(
    `The grace is over of ${accounts} account(s) and ${users} user(s)${unfinished}`,
    `Erase them: ${invocation} cleanup; docs/erasure.md says how to schedule it`,
  );
}
