import { expressionBuilder } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import {
  addCount,
  type Batch,
  batchedChange,
  batchedRemoval,
  isInBatch,
  isOfTokens,
  type RowCounts,
  runBatches,
} from './batches.ts';
import { moveIdeas } from './move-ideas.ts';
import { redactAnswers } from './redact-answers.ts';
import { type Redaction, redactActed } from './redact-events.ts';

type UserBatch = Batch & { userId: number };

const passTexts = (['comments', 'idea_notes'] as const).map(table =>
  batchedChange(`pass_${table}_of_user`, table, (db, $: Arguments<UserBatch & { placeholderId: number }>) =>
    db
      .updateTable(table)
      .set({ author_id: $.placeholderId })
      .where(row => isInBatch(table, $, row('author_id', '=', $.userId)))
      .returning('id'),
  ),
);

/** The removals of rows that refer to the voters of an erased user. */
const voterRemovals = [
  batchedRemoval('remove_vote_networks_of_user', 'vote_networks', (n, $: Arguments<UserBatch>) =>
    n('voter_id', 'in', votersOf($)),
  ),
  // Removes the ids that the user's voters had in an import, because they may name the person.
  batchedRemoval('remove_external_ids_of_user', 'external_ids', (e, $: Arguments<UserBatch>) =>
    e.and([e('kind', '=', 'voter'), e('row_id', 'in', votersOf($))]),
  ),
];

function votersOf($: Arguments<UserBatch>) {
  return expressionBuilder<Tables>()
    .selectFrom('voters as v')
    .select('v.id')
    .where(v => v.and({ 'v.account_id': $.accountId, 'v.user_id': $.userId }));
}

/** Waits for votes and imports in progress that refer to the voters. Later votes and imports wait for this lock. */
const lockVoters = query('lock_voters_of_user', (db, $: Arguments<UserBatch>) =>
  db
    .selectFrom('voters')
    .select('id')
    .where(v => v.and({ account_id: $.accountId, user_id: $.userId }))
    .forUpdate(),
);

/** The votes of the user still count, but no longer belong to the user. */
const clearUserOfVoters = batchedChange('unlink_voters_of_user', 'voters', (db, $: Arguments<UserBatch>) =>
  db
    .updateTable('voters')
    .set({ user_id: null })
    .where(v => isInBatch('voters', $, v('user_id', '=', $.userId)))
    .returning('id'),
);

/** The changes that remove other rows of an erased user. */
const removals = [
  // Removes the stored responses to the user's requests with an Idempotency-Key. The user's tokens are revoked, so
  // nobody can repeat these requests.
  batchedRemoval('remove_answers_of_user', 'idempotency_keys', (k, $: Arguments<UserBatch>) =>
    isOfTokens(
      k
        .selectFrom('api_tokens as t')
        .select('t.id')
        .where(t => t.and({ 't.account_id': $.accountId, 't.issuer_id': $.userId })),
    ),
  ),
  ...(['followers', 'mentions', 'notifications', 'user_blocks'] as const).map(table =>
    batchedRemoval(`remove_${table}_of_user`, table, (row, $: Arguments<UserBatch>) => row('user_id', '=', $.userId)),
  ),
];

/**
 * Finds an account with rows of a user that the erasure still has to change. Searches all accounts, because a user may
 * have rows in accounts that they have left.
 */
const selectAccountLeft = query(
  'select_account_with_rows_of_user',
  (db, $: Arguments<{ userId: number }>) => {
    const rows = (table: TableOfUser, column: 'actor_id' | 'author_id' | 'user_id') =>
      db.selectFrom(table).select('account_id').where(column, '=', $.userId);
    const answers = db
      .selectFrom('api_tokens as t')
      .innerJoin('idempotency_keys as k', join =>
        join.onRef('k.account_id', '=', 't.account_id').onRef('k.token_id', '=', 't.id'),
      )
      .select('t.account_id')
      .where('t.issuer_id', '=', $.userId);
    const left = rows('events', 'actor_id')
      .unionAll(rows('comments', 'author_id'))
      .unionAll(rows('idea_notes', 'author_id'))
      .unionAll(rows('ideas', 'author_id'))
      .unionAll(answers)
      .unionAll(rows('voters', 'user_id'))
      .unionAll(rows('followers', 'user_id'))
      .unionAll(rows('mentions', 'user_id'))
      .unionAll(rows('notifications', 'user_id'))
      .unionAll(rows('user_blocks', 'user_id'));
    return db.selectFrom(left.as('left')).select('left.account_id').limit(1);
  },
  { isPrepared: false },
);

type TableOfUser =
  | 'events'
  | 'comments'
  | 'idea_notes'
  | 'ideas'
  | 'voters'
  | 'followers'
  | 'mentions'
  | 'notifications'
  | 'user_blocks';

/** Changes the rows of a user, account by account. Covers only the tables where one user may have many rows. */
export async function changeUserRows(
  database: Database,
  user: Omit<Redaction, 'accountId'>,
  { now, counts }: { now: Date; counts: RowCounts },
): Promise<void> {
  const { userId, placeholder, batchSize } = user;
  for (;;) {
    const accountId = await findAccountLeft(database, userId);
    if (accountId === undefined) break;
    const redaction = { ...user, accountId };
    const batch = { accountId, userId, batchSize };
    // Each of the following steps repeats until it finds no more rows.
    addCount(counts, 'events', await redactActed(database, redaction));
    for (const change of passTexts) {
      await runBatches(database, change, { ...batch, placeholderId: placeholder.id }, counts);
    }
    addCount(counts, 'ideas', await moveIdeas(database, redaction, now));
    for (const removal of [...removals, ...voterRemovals]) await runBatches(database, removal, batch, counts);
    const unlinked = await database.transaction(transaction => unlinkVoters(transaction, batch));
    for (const [table, count] of Object.entries(unlinked)) addCount(counts, table, count);
  }
  // The user's ideas now have the placeholder user as their author. So responses that the server stores from now on do
  // not show the erased user.
  addCount(counts, 'idempotency_keys', await redactAnswers(database, userId, placeholder, batchSize));
}

/**
 * Unlinks the voters from the user. First removes the rows that votes and imports have written in the meantime, because
 * nobody can find these rows after the unlinking.
 */
async function unlinkVoters(transaction: Queryable, batch: UserBatch): Promise<RowCounts> {
  const counts: RowCounts = {};
  await transaction.query(lockVoters, batch);
  for (const change of [...voterRemovals, clearUserOfVoters]) await runBatches(transaction, change, batch, counts);
  return counts;
}

export async function findAccountLeft(database: Queryable, userId: number): Promise<number | undefined> {
  const [left] = await database.query(selectAccountLeft, { userId });
  return left?.account_id;
}
