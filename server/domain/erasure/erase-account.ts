import type { Database } from '../../database/database.ts';
import { plannedStatement, statement } from '../../database/statement.ts';
import { batchedRemoval, type RowCounts, runBatches } from './batches.ts';
import type { ErasureOptions, ErasureResult } from './erasure.ts';
import { removeAccountJobs } from './jobs.ts';
import { removeDeliveries, removeEvents, removeIdeas, removeTokens } from './remove-account-rows.ts';

const lockAccount = statement<{ is_begun: boolean; is_due: boolean }>(
  'lock_account_for_erasure',
  `select erasure_began_at is not null as is_begun, coalesce(deletion_scheduled_at <= $2, false) as is_due
  from accounts where id = $1 for update`,
);

/** Nothing more is sent from an account that is half gone, and nobody acts in it. */
const beginStatements = [
  statement<never>('begin_account_erasure', 'update accounts set erasure_began_at = $2 where id = $1'),
  statement<never>(
    'revoke_tokens_of_account',
    'update api_tokens set revoked_at = $2 where account_id = $1 and revoked_at is null',
  ),
  ...['webhook_endpoints', 'chat_channels'].map(table =>
    statement<never>(
      `disable_${table}_of_account`,
      `update ${table} set disabled_at = $2, disabled_reason = 'The account is being erased'
      where account_id = $1 and disabled_at is null`,
    ),
  ),
];

const ofAccount = (table: string) => batchedRemoval(table, 'account_id = $1');
const notifications = ofAccount('notifications');
/** In an order in which next to nothing is left to cascade; statuses and tags go with their boards. */
const rest = [
  'voters',
  'memberships',
  'invitations',
  'user_blocks',
  'webhook_endpoints',
  'chat_channels',
  'boards',
].map(ofAccount);

/** Takes along what a request wrote that had been let in before. */
const deleteAccount = plannedStatement<{ id: number }>('delete from accounts where id = $1 returning id');

/**
 * Erases an account whose grace is over, with everything that depends on it (Operational rules, 1). Undefined where
 * there is nothing to do: it was kept after all, or another run has erased it.
 *
 * It begins with a mark, in one transaction with the end of all use; from then on the deletion cannot be cancelled.
 * The rest goes in batches, each a transaction of its own, and what is left after a kill is found by the next run.
 */
export async function eraseAccount(
  database: Database,
  accountId: number,
  { now, dueBefore, batchSize, record }: ErasureOptions,
): Promise<ErasureResult | undefined> {
  const begin = await database.transaction(async ({ query }) => {
    // Waits for what refers to the account and is not committed yet.
    const [account] = await query(lockAccount, [accountId, dueBefore]);
    if (!account || (!account.is_begun && !account.is_due)) return undefined;
    if (!account.is_begun) for (const step of beginStatements) await query(step, [accountId, now]);
    return { isResumed: account.is_begun };
  });
  if (!begin) return undefined;

  const counts: RowCounts = {};
  const options = { batchSize, counts };
  await removeAccountJobs(database, accountId, options);
  await runBatches(database, notifications, [accountId], options);
  await removeDeliveries(database, accountId, options);
  await removeEvents(database, accountId, options);
  await removeIdeas(database, accountId, options);
  await removeTokens(database, accountId, options);
  for (const removal of rest) await runBatches(database, removal, [accountId], options);
  return database.transaction(async ({ query }) => {
    const [gone] = await query(deleteAccount, [accountId]);
    // Of two runs that erase it together, one has erased it.
    if (!gone) return undefined;
    const erased = { id: accountId, isResumed: begin.isResumed, counts };
    await record({ query }, erased);
    return erased;
  });
}
