import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { type Batch, type BatchedChange, batchedRemoval, type RowCounts, runBatches } from './batches.ts';

/*
 * Removes the rows of an account that have many dependent rows, such as the votes of ideas. Dependents go first,
 * through the ids of a few owners at a time, so that no statement and no cascade takes long.
 */

/** A table of an account whose rows have dependents. */
interface Owner<Id> {
  /** Selects some of the ids that are left. */
  select: Query<{ accountId: number; chunkSize: number }, { id: Id }>;
  /** The number of ids at once. */
  chunkSize: number;
  /** The removals of the dependents, and then of the rows themselves. */
  removals: BatchedChange<Chunk<Id>>[];
}

interface Chunk<Id> extends Batch {
  ids: readonly Id[];
}

type SelectChunk = Arguments<{ accountId: number; chunkSize: number }>;

/** The best plan depends on the size of the account. */
const options = { isPrepared: false };

function removalBy<Id, Table extends keyof Tables>(table: Table, column: keyof Tables[Table] & string) {
  return batchedRemoval(
    `remove_${table}_by_${column}`,
    table,
    (_, $: Arguments<Chunk<Id>>) => sql<boolean>`${sql.ref(column)} = any (${$.ids})`,
  );
}

const deliveries: Owner<number> = {
  select: query(
    'select_deliveries_of_account',
    (db, $: SelectChunk) =>
      db.selectFrom('webhook_deliveries').select('id').where('account_id', '=', $.accountId).limit($.chunkSize),
    options,
  ),
  chunkSize: 1000,
  removals: [removalBy('webhook_attempts', 'delivery_id'), removalBy('webhook_deliveries', 'id')],
};

const events: Owner<string> = {
  select: query(
    'select_events_of_account',
    (db, $: SelectChunk) =>
      db.selectFrom('events').select('id').where('account_id', '=', $.accountId).limit($.chunkSize),
    options,
  ),
  chunkSize: 1000,
  removals: [removalBy('notifications', 'event_id'), removalBy('events', 'id')],
};

const ideas: Owner<number> = {
  // Ideas that are not the target of a merge: removing a target cascades to all of its sources in one statement.
  select: query(
    'select_ideas_of_account',
    (db, $: SelectChunk) =>
      db
        .selectFrom('ideas as i')
        .select('i.id')
        .where('i.account_id', '=', $.accountId)
        .where(i =>
          i.not(
            i.exists(
              i
                .selectFrom('ideas as s')
                .select('s.id')
                .where('s.account_id', '=', $.accountId)
                .whereRef('s.merged_into_id', '=', 'i.id'),
            ),
          ),
        )
        .limit($.chunkSize),
    options,
  ),
  chunkSize: 200,
  removals: [
    removalBy('votes', 'idea_id'),
    removalBy('comments', 'idea_id'),
    removalBy('followers', 'idea_id'),
    removalBy('idea_tags', 'idea_id'),
    batchedRemoval('remove_merges_of_ideas', 'merges', (m, $: Arguments<Chunk<number>>) =>
      m.or([m('source_id', '=', m.fn.any($.ids)), m('target_id', '=', m.fn.any($.ids))]),
    ),
    removalBy('ideas', 'id'),
  ],
};

/**
 * No foreign key removes the OAuth records of a token. They go first and do not come back: the account's tokens are revoked
 * since the erasure began, and createToken makes no more.
 */
const tokens: Owner<number> = {
  select: query(
    'select_tokens_of_account',
    (db, $: SelectChunk) =>
      db.selectFrom('api_tokens').select('id').where('account_id', '=', $.accountId).limit($.chunkSize),
    options,
  ),
  chunkSize: 200,
  removals: [
    removalBy('idempotency_keys', 'token_id'),
    removalBy('oauth_records', 'token_id'),
    batchedRemoval(
      'remove_rate_limits_of_tokens',
      'rate_limits',
      (_, $: Arguments<Chunk<number>>) => sql<boolean>`key = any (array(
        select bucket || ':' || id
        from unnest(array['apitoken:read', 'apitoken:write']) bucket, unnest(${$.ids}::bigint[]) id
      ))`,
    ),
    removalBy('api_token_boards', 'token_id'),
    removalBy('api_tokens', 'id'),
  ],
};

export const removeDeliveries = removalOf(deliveries);
export const removeEvents = removalOf(events);
export const removeIdeas = removalOf(ideas);
export const removeTokens = removalOf(tokens);

function removalOf<Id>({ select, chunkSize, removals }: Owner<Id>) {
  return async (database: Queryable, { accountId, batchSize }: Batch, counts: RowCounts) => {
    for (;;) {
      const rows = await database.query(select, { accountId, chunkSize: Math.min(chunkSize, batchSize) });
      if (rows.length === 0) return;
      const ids = rows.map(({ id }) => id);
      for (const removal of removals) await runBatches(database, removal, { accountId, batchSize, ids }, counts);
    }
  };
}
