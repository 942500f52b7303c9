import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import type { RowCounts } from './batches.ts';
import { dueTimes, type Graces } from './clean-up.ts';
import { findHolds } from './find-holds.ts';
import { type DueAccount, type DueUser, listDueAccounts, listDueUsers } from './list-due.ts';

/** What a clean-up would do now. */
export interface CleanUpPreview {
  accounts: (DueAccount & { counts: RowCounts })[];
  users: (DueUser & { held_by: string[]; counts: RowCounts })[];
}

/** Votes and comments by the counters of the ideas: to count the rows would take long where there are many. */
const countOfAccount = plannedStatement<{ counts: RowCounts }>(`
  select json_build_object(
    'boards', (select count(*) from boards where account_id = $1),
    'ideas', count(*), 'votes', coalesce(sum(up_count + down_count), 0), 'comments', coalesce(sum(comment_count), 0),
    'members', (select count(*) from memberships where account_id = $1),
    'tokens', (select count(*) from api_tokens where account_id = $1),
    'webhooks', (select count(*) from webhook_endpoints where account_id = $1),
    'events', (select count(*) from events where account_id = $1)
  ) as counts
  from ideas where account_id = $1`);

const countOfUser = plannedStatement<{ counts: RowCounts }>(`
  select json_build_object(
    'ideas', (select count(*) from ideas where author_id = $1),
    'comments', (select count(*) from comments where author_id = $1),
    'votes', (select count(*) from voters o join votes v on v.voter_id = o.id where o.user_id = $1),
    'tokens', (select count(*) from api_tokens where issuer_id = $1),
    'memberships', (select count(*) from memberships where user_id = $1),
    'followed_ideas', (select count(*) from followers where user_id = $1),
    'notifications', (select count(*) from notifications where user_id = $1)
  ) as counts`);

/** Lists whom a clean-up would erase, with how much, and whom it would pass over and why. Changes nothing. */
export async function previewCleanUp(database: Queryable, graces: Graces, now: Date): Promise<CleanUpPreview> {
  const { accountsDueBefore, usersDueBefore } = dueTimes(graces, now);
  const accounts = [];
  for (const account of await listDueAccounts(database, accountsDueBefore)) {
    accounts.push({ ...account, counts: await countRows(database, countOfAccount, account.id) });
  }
  // Accounts go first, and then hold nobody any more.
  const goingIds = accounts.map(({ id }) => id);
  const users = [];
  for (const user of await listDueUsers(database, usersDueBefore)) {
    const held_by = user.is_begun ? [] : await findHolds(database, user.id, goingIds);
    users.push({ ...user, held_by, counts: await countRows(database, countOfUser, user.id) });
  }
  return { accounts, users };
}

async function countRows(database: Queryable, counting: typeof countOfAccount, id: number): Promise<RowCounts> {
  const [row] = await database.query(counting, [id]);
  return row?.counts ?? {};
}
