import type { Kysely } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { countAll } from '../bounded-count.ts';
import type { RowCounts } from './batches.ts';
import { type Graces, listDue } from './clean-up.ts';

export type CleanUpPreview = Awaited<ReturnType<typeof previewCleanUp>>;

export async function previewCleanUp(database: QueryBuilding, graces: Graces, now: Date) {
  const due = await listDue(database, graces, now);
  const accounts = [];
  for (const account of due.accounts) {
    accounts.push({ ...account, counts: await countOfAccount(database.db, account.id) });
  }
  const users = [];
  for (const user of due.users) users.push({ ...user, counts: await countOfUser(database.db, user.id) });
  return { accounts, users };
}

/**
 * Counts votes and comments as sums of the ideas' counters, because counting all rows of votes and comments would take
 * long.
 */
function countOfAccount(db: Kysely<Tables>, accountId: number): Promise<RowCounts> {
  const count = (table: 'boards' | 'idea_notes' | 'memberships' | 'api_tokens' | 'webhook_endpoints' | 'events') =>
    countAll(db.selectFrom(table).where('account_id', '=', accountId));
  return db
    .selectFrom('ideas')
    .select(i => [
      count('boards').as('boards'),
      i.fn.countAll<number>().as('ideas'),
      i.fn.coalesce(i.fn.sum<number>(i('up_count', '+', i.ref('down_count'))), i.lit(0)).as('votes'),
      i.fn.coalesce(i.fn.sum<number>('comment_count'), i.lit(0)).as('comments'),
      count('idea_notes').as('notes'),
      count('memberships').as('members'),
      count('api_tokens').as('tokens'),
      count('webhook_endpoints').as('webhooks'),
      count('events').as('events'),
    ])
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
}

/** Counts the rows of a user in all accounts, because the user may have rows in any account. */
function countOfUser(db: Kysely<Tables>, userId: number): Promise<RowCounts> {
  type Table = 'ideas' | 'comments' | 'idea_notes' | 'api_tokens' | 'memberships' | 'followers' | 'notifications';
  const count = (table: Table, column: 'author_id' | 'issuer_id' | 'user_id') =>
    countAll(db.selectFrom(table).where(column, '=', userId));
  const votes = db
    .selectFrom('voters as o')
    .innerJoin('votes as v', join => join.onRef('v.account_id', '=', 'o.account_id').onRef('v.voter_id', '=', 'o.id'))
    .where('o.user_id', '=', userId);
  return db
    .selectNoFrom([
      count('ideas', 'author_id').as('ideas'),
      count('comments', 'author_id').as('comments'),
      count('idea_notes', 'author_id').as('notes'),
      countAll(votes).as('votes'),
      count('api_tokens', 'issuer_id').as('tokens'),
      count('memberships', 'user_id').as('memberships'),
      count('followers', 'user_id').as('followed_ideas'),
      count('notifications', 'user_id').as('notifications'),
    ])
    .executeTakeFirstOrThrow();
}
