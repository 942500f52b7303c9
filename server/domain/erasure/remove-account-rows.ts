import type { Database } from '../../database/database.ts';
import { plannedStatement, type Statement } from '../../database/statement.ts';
import { type BatchedChange, type BatchOptions, batchedRemoval, runBatches } from './batches.ts';

/*
 * The rows of an account that hang on others. Some of these tables hold a row for each vote: they are emptied through
 * the ids of what they hang on, a few at a time, so that no statement and no cascade is ever a long one.
 */

/** Something of an account on which rows of other tables hang, which go first. */
interface Owner {
  /** Some ids that are left. */
  select: Statement<{ id: unknown }>;
  /** How many at once. */
  chunkSize: number;
  /** What hangs on them, under the condition that finds it by their ids. */
  dependents: BatchedChange[];
  itself: BatchedChange;
}

const dependent = (table: string, column: string) => batchedRemoval(table, `${column} = any ($1)`);

const deliveries: Owner = {
  select: plannedStatement(`
    select d.id from webhook_endpoints w join webhook_deliveries d on d.endpoint_id = w.id
    where w.account_id = $1 limit $2`),
  chunkSize: 1000,
  dependents: [dependent('webhook_attempts', 'delivery_id')],
  itself: dependent('webhook_deliveries', 'id'),
};

const events: Owner = {
  select: plannedStatement('select id from events where account_id = $1 limit $2'),
  chunkSize: 1000,
  dependents: [dependent('notifications', 'event_id')],
  itself: dependent('events', 'id'),
};

const ideas: Owner = {
  // Those into which none is merged: to remove another would take the merged ones along, in one statement.
  select: plannedStatement(`
    select i.id from ideas i
    where i.account_id = $1 and not exists (select from ideas s where s.merged_into_id = i.id)
    limit $2`),
  chunkSize: 200,
  dependents: [
    dependent('votes', 'idea_id'),
    dependent('comments', 'idea_id'),
    dependent('followers', 'idea_id'),
    dependent('idea_tags', 'idea_id'),
    batchedRemoval('merges', 'source_id = any ($1) or target_id = any ($1)'),
  ],
  itself: dependent('ideas', 'id'),
};

const tokens: Owner = {
  select: plannedStatement('select id from api_tokens where account_id = $1 limit $2'),
  chunkSize: 200,
  dependents: [
    dependent('idempotency_keys', 'token_id'),
    dependent('oauth_records', 'token_id'),
    batchedRemoval(
      'rate_limits',
      `key = any (array(
        select bucket || ':' || id from unnest(array['apitoken:read', 'apitoken:write']) bucket, unnest($1::bigint[]) id
      ))`,
    ),
    dependent('api_token_boards', 'token_id'),
  ],
  itself: dependent('api_tokens', 'id'),
};

type Remove = (database: Database, accountId: number, options: BatchOptions) => Promise<void>;

export const removeDeliveries = removalOf(deliveries);
export const removeEvents = removalOf(events);
export const removeIdeas = removalOf(ideas);
export const removeTokens = removalOf(tokens);

function removalOf({ select, chunkSize, dependents, itself }: Owner): Remove {
  return async (database, accountId, options) => {
    for (;;) {
      const rows = await database.query(select, [accountId, Math.min(chunkSize, options.batchSize)]);
      if (rows.length === 0) return;
      const ids = rows.map(({ id }) => id);
      for (const change of [...dependents, itself]) await runBatches(database, change, [ids], options);
    }
  };
}
