import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { hasReplacementAddress } from '../identities/own-address.ts';
import {
  type Batch,
  batchedRemoval,
  type ErasureOptions,
  type ErasureResult,
  isOfTokens,
  type RowCounts,
  runBatches,
} from './batches.ts';
import { removeAccountJobs } from './jobs.ts';

/**
 * The statements that remove the rows of an account. The name of a table in this list stands for a statement that
 * removes all rows of the account from this table. Dependent rows are removed first, for example the votes before the
 * ideas, so that no cascading delete takes long. Statuses and tags are removed with their boards.
 */
const removals = (
  [
    'notifications',
    'webhook_attempts',
    'webhook_deliveries',
    'event_positions',
    'events',
    'vote_networks',
    'votes',
    'mentions',
    'comments',
    'idea_notes',
    'followers',
    'idea_tags',
    'merges',
    // Merged ideas are removed before the target of their merge. Removing a target first would delete all its merged
    // ideas in one long cascade.
    batchedRemoval('remove_ideas_of_account', 'ideas', (i, $: Arguments<Batch>) => {
      const merged = i.selectFrom('ideas as s').select('s.id').where('s.account_id', '=', $.accountId);
      return i.not(i.exists(merged.whereRef('s.merged_into_id', '=', 'ideas.id')));
    }),
    'external_ids',
    'idempotency_keys',
    // OAuth records have no foreign key to their token, so no cascade removes them. No new records appear, because the
    // tokens are revoked.
    batchedRemoval('remove_oauth_records_of_account', 'oauth_records', (r, $: Arguments<Batch>) =>
      isOfTokens(r.selectFrom('api_tokens').select('id').where('account_id', '=', $.accountId)),
    ),
    batchedRemoval(
      'remove_rate_limits_of_account',
      'rate_limits',
      (_, $: Arguments<Batch>) => sql<boolean>`key = any (array(
        select bucket || ':' || t.id
        from api_tokens t, unnest(array['apitoken:read', 'apitoken:write']) bucket
        where t.account_id = ${$.accountId}
      ))`,
    ),
    // The condition names the account, because the primary keys of these tables do not contain the account. No new
    // sign-in links appear, because the account is being erased. The sessions and challenges are those of people who
    // signed in through an identity provider of the account, or through the application that embeds its boards.
    ...(['sign_in_links', 'sessions', 'sign_in_challenges'] as const).map(table =>
      batchedRemoval<typeof table, Batch>(`remove_${table}_of_account`, table, (row, $: Arguments<Batch>) =>
        row('account_id', '=', $.accountId),
      ),
    ),
    'identities',
    'identity_providers',
    'event_waits',
    'token_usage',
    'api_token_boards',
    'api_tokens',
    'voters',
    'memberships',
    'invitations',
    'user_blocks',
    'webhook_endpoints',
    'chat_channels',
    'embedding_secrets',
    'used_embedding_tokens',
    'vote_followings',
    'boards',
  ] as const
).map(one => (typeof one === 'string' ? batchedRemoval<typeof one, Batch>(`remove_${one}_of_account`, one) : one));

const lockAccount = query('lock_account_for_erasure', (db, $: Arguments<{ accountId: number; dueBefore: Date }>) =>
  db
    .selectFrom('accounts')
    .select(a => ['erasure_began_at', a('deletion_scheduled_at', '<=', $.dueBefore).as('is_due')])
    .where('id', '=', $.accountId)
    .forUpdate(),
);

type Begin = Arguments<{ accountId: number; now: Date }>;

/**
 * The statements that block all actions in the account and stop its webhooks and chat posts. They also request the
 * deletion of users who can sign in only through the account's identity providers or embedding application. These
 * statements run first, because the erasure then removes the data step by step.
 */
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
  // After the erasure of the account, its identity providers no longer sign anybody in. Users who can sign in only
  // through them lose all access, so this statement requests their deletion. It also requests the deletion of people
  // whom an import created without an e-mail address, because they can never sign in.
  query('request_deletion_of_identity_users', (db, $: Begin) =>
    db
      .updateTable('users')
      .set({ deletion_requested_at: $.now })
      .where('deletion_requested_at', 'is', null)
      .where(u => hasReplacementAddress(u.ref('email')))
      .where(u => {
        const identities = u.selectFrom('identities').select('user_id').where('account_id', '=', $.accountId);
        const imported = u
          .selectFrom('external_ids')
          .select('user_id')
          .where(e => e.and({ account_id: $.accountId, kind: 'person' }))
          .$narrowType<{ user_id: number }>();
        return u('id', 'in', identities.union(imported));
      }),
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

/**
 * Deletes the account. Requests that began before the erasure may have added rows during the erasure. Foreign keys
 * delete these rows together with the account.
 */
const deleteAccount = query('delete_account', (db, $: Arguments<{ accountId: number }>) =>
  db.deleteFrom('accounts').where('id', '=', $.accountId).returning('id'),
);

/**
 * Erases an account whose grace period is over, and all its data (specification: Operational rules, 1). Returns
 * undefined if the deletion was cancelled, or if another run has erased the account.
 *
 * The first transaction marks the account and ends all use of it. After that transaction, the deletion cannot be
 * cancelled. The rows are removed in batches, each in its own transaction. If the process is killed, the next run
 * continues with the remaining rows.
 */
export async function eraseAccount(
  database: Database,
  accountId: number,
  { now, dueBefore, batchSize, record }: ErasureOptions,
): Promise<ErasureResult | undefined> {
  const begin = await database.transaction(async ({ query }) => {
    // Locks the account. The lock waits for open transactions that refer to the account.
    const [account] = await query(lockAccount, { accountId, dueBefore });
    const isResumed = account?.erasure_began_at != null;
    if (!isResumed && !account?.is_due) return undefined;
    if (!isResumed) for (const step of beginStatements) await query(step, { accountId, now });
    return { isResumed };
  });
  if (!begin) return undefined;

  const counts: RowCounts = {};
  const batch = { accountId, batchSize };
  await removeAccountJobs(database, batch, counts);
  for (const removal of removals) await runBatches(database, removal, batch, counts);
  return database.transaction(async ({ query }) => {
    const [gone] = await query(deleteAccount, { accountId });
    // Another process has already erased the account.
    if (!gone) return undefined;
    const erased = { id: accountId, isResumed: begin.isResumed, counts };
    await record({ query }, erased);
    return erased;
  });
}
