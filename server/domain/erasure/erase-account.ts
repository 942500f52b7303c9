import { sql } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import {
  type Batch,
  type BatchedChange,
  batchedRemoval,
  type ErasureOptions,
  type ErasureResult,
  type RowCounts,
  runBatches,
} from './batches.ts';
import { removeAccountJobs } from './jobs.ts';

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

const removalsOfOwners = [removalOf(deliveries), removalOf(events), removalOf(ideas), removalOf(tokens)];

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

const lockAccount = query('lock_account_for_erasure', (db, $: Arguments<{ accountId: number; dueBefore: Date }>) =>
  db
    .selectFrom('accounts')
    .select(a => ['erasure_began_at', a('deletion_scheduled_at', '<=', $.dueBefore).as('is_due')])
    .where('id', '=', $.accountId)
    .forUpdate(),
);

type Begin = Arguments<{ accountId: number; now: Date }>;

/** From now on nobody acts in the account, and it sends nothing: parts of it will be missing. */
const beginStatements = [
  query('begin_account_erasure', (db, $: Begin) =>
    db.updateTable('accounts').set({ erasure_began_at: $.now }).where('id', '=', $.accountId),
  ),
  query('revoke_tokens_of_account', (db, $: Begin) =>
    db
      .updateTable('api_tokens')
      .set({ revoked_at: $.now })
      .where('account_id', '=', $.accountId)
      .where('revoked_at', 'is', null),
  ),
  ...(['webhook_endpoints', 'chat_channels'] as const).map(table =>
    query(`disable_${table}_of_account`, (db, $: Begin) =>
      db
        .updateTable(table)
        .set({ disabled_at: $.now, disabled_reason: 'The account is being erased' })
        .where('account_id', '=', $.accountId)
        .where('disabled_at', 'is', null),
    ),
  ),
];

const removalOfAll = (table: Parameters<typeof batchedRemoval>[1]) =>
  batchedRemoval<typeof table, Batch>(`remove_${table}_of_account`, table);
const notifications = removalOfAll('notifications');
/** In an order that leaves almost nothing to cascades. Statuses and tags go with their boards. */
const rest = (
  ['voters', 'memberships', 'invitations', 'user_blocks', 'webhook_endpoints', 'chat_channels', 'boards'] as const
).map(removalOfAll);

/** Also removes rows that a request wrote which began before the erasure. */
const deleteAccount = query('delete_account', (db, $: Arguments<{ accountId: number }>) =>
  db.deleteFrom('accounts').where('id', '=', $.accountId).returning('id'),
);

/**
 * Erases an account whose grace is over, with everything that depends on it (Operational rules, 1). Returns undefined
 * if the deletion was cancelled, or if another run has erased the account.
 *
 * The first transaction marks the account and ends all use of it. From then on the deletion cannot be cancelled. The
 * rows go in batches, each in a transaction of its own. After a kill the next run finds the rows that are left.
 */
export async function eraseAccount(
  database: Database,
  accountId: number,
  { now, dueBefore, batchSize, record }: ErasureOptions,
): Promise<ErasureResult | undefined> {
  const begin = await database.transaction(async ({ query }) => {
    // Waits for open transactions that refer to the account.
    const [account] = await query(lockAccount, { accountId, dueBefore });
    if (!account) return undefined;
    const isBegun = account.erasure_began_at !== null;
    if (!isBegun && !account.is_due) return undefined;
    if (!isBegun) for (const step of beginStatements) await query(step, { accountId, now });
    return { isResumed: isBegun };
  });
  if (!begin) return undefined;

  const counts: RowCounts = {};
  const batch = { accountId, batchSize };
  await removeAccountJobs(database, batch, counts);
  await runBatches(database, notifications, batch, counts);
  for (const remove of removalsOfOwners) await remove(database, batch, counts);
  for (const removal of rest) await runBatches(database, removal, batch, counts);
  return database.transaction(async ({ query }) => {
    const [gone] = await query(deleteAccount, { accountId });
    // Another run erased it at the same time.
    if (!gone) return undefined;
    const erased = { id: accountId, isResumed: begin.isResumed, counts };
    await record({ query }, erased);
    return erased;
  });
}
