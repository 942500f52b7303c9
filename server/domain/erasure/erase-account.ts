import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { type Batch, batchedRemoval, type RowCounts, runBatches } from './batches.ts';
import type { ErasureOptions, ErasureResult } from './erasure.ts';
import { removeAccountJobs } from './jobs.ts';
import { removeDeliveries, removeEvents, removeIdeas, removeTokens } from './remove-account-rows.ts';

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
  await removeDeliveries(database, batch, counts);
  await removeEvents(database, batch, counts);
  await removeIdeas(database, batch, counts);
  await removeTokens(database, batch, counts);
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
