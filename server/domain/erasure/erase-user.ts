import { sql } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { addCount, type Batch, batchedRemoval, isInBatch, runBatches } from './batches.ts';
import { beginUserErasure, isOfIssuer } from './begin-user-erasure.ts';
import type { ErasureOptions, ErasureResult, UserEraser } from './erasure.ts';
import { moveIdeas } from './move-ideas.ts';
import { requirePlaceholder } from './placeholder.ts';
import { redactAnswers } from './redact-answers.ts';
import { type Redaction, redactActed } from './redact-events.ts';
import type { ShownPerson } from './redact-person.ts';

type UserBatch = Batch & { userId: number };

/** The best plan depends on how many rows are the user's. */
const options = { isPrepared: false };

/** Rows that concern the user alone. */
const removals = (['followers', 'notifications', 'user_blocks'] as const).map(table =>
  batchedRemoval(`remove_${table}_of_user`, table, (row, $: Arguments<UserBatch>) => row('user_id', '=', $.userId)),
);

/** Votes stay and count. Their voter no longer belongs to anybody. */
const unlinkVoters = {
  table: 'voters',
  statement: query(
    'unlink_voters_of_user',
    (db, $: Arguments<UserBatch>) =>
      db
        .updateTable('voters')
        .set({ user_id: null })
        .where(v => isInBatch('voters', $, v('user_id', '=', $.userId)))
        .returning('id'),
    options,
  ),
} as const;

const passComments = {
  table: 'comments',
  statement: query(
    'pass_comments_of_user',
    (db, $: Arguments<UserBatch & { placeholderId: number }>) =>
      db
        .updateTable('comments')
        .set({ author_id: $.placeholderId })
        .where(c => isInBatch('comments', $, c('author_id', '=', $.userId)))
        .returning('id'),
    options,
  ),
} as const;

/** The tokens are revoked, so nobody receives these answers again. */
const removeAnswers = batchedRemoval(
  'remove_answers_of_user',
  'idempotency_keys',
  (_, $: Arguments<UserBatch>) => sql<boolean>`token_id = any (array(
    select id from api_tokens where account_id = ${$.accountId} and issuer_id = ${$.userId}
  ))`,
);

/**
 * Finds an account with rows that the erasure of a user still has to change. This starts from the person: the rows may
 * be in any account, also in one that the user has left.
 */
const selectAccountLeft = query(
  'select_account_with_rows_of_user',
  (db, $: Arguments<{ userId: number }>) => {
    const rows = (table: TableOfUser, column: 'actor_id' | 'author_id' | 'user_id') =>
      db.selectFrom(table).select('account_id').where(column, '=', $.userId);
    const answers = db
      .selectFrom('api_tokens as t')
      .innerJoin('idempotency_keys as k', 'k.token_id', 't.id')
      .select('t.account_id')
      .where('t.issuer_id', '=', $.userId);
    const left = rows('events', 'actor_id')
      .unionAll(rows('comments', 'author_id'))
      .unionAll(rows('ideas', 'author_id'))
      .unionAll(answers)
      .unionAll(rows('voters', 'user_id'))
      .unionAll(rows('followers', 'user_id'))
      .unionAll(rows('notifications', 'user_id'))
      .unionAll(rows('user_blocks', 'user_id'));
    return db.selectFrom(left.as('left')).select('left.account_id').limit(1);
  },
  options,
);

type TableOfUser = 'events' | 'comments' | 'ideas' | 'voters' | 'followers' | 'notifications' | 'user_blocks';

export interface UserErasureOptions extends ErasureOptions {
  erasers: readonly UserEraser[];
}

/** The outcome for a user who is due: erased, or kept for the given reasons. */
export type UserErasure = ErasureResult | { id: number; heldBy: string[] };

/**
 * Erases a user whose grace is over (Operational rules, 2; User-deletion placeholders). Returns undefined if the
 * deletion was cancelled, or if another run has erased the user.
 *
 * The first transaction marks the user, ends all access and clears the profile. From then on the deletion cannot be
 * cancelled. The rows are changed account by account in batches, each in a transaction of its own. The last transaction
 * locks the user and looks for rows that are left, such as those of a request that began before. It removes the user
 * when there are none.
 */
export async function eraseUser(
  database: Database,
  userId: number,
  options: UserErasureOptions,
): Promise<UserErasure | undefined> {
  const begin = await beginUserErasure(database, userId, options);
  if (!begin) return undefined;
  if ('heldBy' in begin) return { id: userId, heldBy: begin.heldBy };

  const result = { id: userId, ...begin };
  const placeholder = await requirePlaceholder(database, options.now);
  for (;;) {
    await changeRows(database, placeholder, result, options);
    const outcome = await finish(database, placeholder, result, options);
    if (outcome !== 'left') return outcome;
  }
}

/** Changes the user's rows of the tables that may have many. */
async function changeRows(
  database: Database,
  placeholder: ShownPerson,
  { id: userId, counts }: ErasureResult,
  { now, batchSize }: UserErasureOptions,
) {
  for (;;) {
    const accountId = await findAccountLeft(database, userId);
    if (accountId === undefined) break;
    await changeRowsOfAccount(database, { accountId, userId, placeholder, batchSize }, { now, counts });
  }
  // After all ideas: answers that are stored from then on do not show the user.
  addCount(counts, 'idempotency_keys', await redactAnswers(database, userId, placeholder, batchSize));
}

/** Each step repeats until it finds no more rows. */
async function changeRowsOfAccount(
  database: Database,
  redaction: Redaction,
  { now, counts }: Pick<ErasureResult, 'counts'> & { now: Date },
) {
  const { placeholder, ...batch } = redaction;
  addCount(counts, 'events', await redactActed(database, redaction));
  await runBatches(database, passComments, { ...batch, placeholderId: placeholder.id }, counts);
  addCount(counts, 'ideas', await moveIdeas(database, redaction, now));
  await runBatches(database, removeAnswers, batch, counts);
  await runBatches(database, unlinkVoters, batch, counts);
  for (const removal of removals) await runBatches(database, removal, batch, counts);
}

async function findAccountLeft(database: Queryable, userId: number): Promise<number | undefined> {
  const [left] = await database.query(selectAccountLeft, { userId });
  return left?.account_id;
}

const lockUser = query('lock_user', (db, $: Arguments<{ userId: number }>) =>
  db.selectFrom('users').select('id').where('id', '=', $.userId).forUpdate(),
);

/** A name such as "Ada's laptop" names a person too. */
const passTokens = query(
  'pass_tokens_of_user',
  (db, $: Arguments<{ userId: number; placeholderId: number; now: Date }>) =>
    db
      .updateTable('api_tokens')
      .set(t => ({
        issuer_id: $.placeholderId,
        name: 'Token of a deleted user',
        revoked_at: t.fn.coalesce('revoked_at', $.now),
      }))
      .where('issuer_id', '=', $.userId)
      .returning('id'),
);

/** Grants of the tokens that were issued while the erasure began. */
const removeGrants = query('remove_grants_of_user', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('oauth_records').where(isOfIssuer(db, $)),
);

/** Foreign keys remove the few other rows that name the user. */
const deleteUser = query('delete_user', (db, $: Arguments<{ userId: number }>) =>
  db.deleteFrom('users').where('id', '=', $.userId),
);

/**
 * Removes the user, unless rows were written meanwhile that are still to be changed. Its statements name no account:
 * they remove the user everywhere in one transaction.
 */
function finish(
  database: Database,
  placeholder: ShownPerson,
  { id: userId, isResumed, counts }: ErasureResult,
  { now, erasers, record }: UserErasureOptions,
): Promise<ErasureResult | undefined | 'left'> {
  return database.transaction(async ({ query }) => {
    // Waits for transactions that refer to the user. Later ones find the user gone.
    const [user] = await query(lockUser, { userId });
    if (!user) return undefined;
    if ((await findAccountLeft({ query }, userId)) !== undefined) return 'left';
    await query(removeGrants, { userId });
    const passed = await query(passTokens, { userId, placeholderId: placeholder.id, now });
    for (const eraser of erasers) await eraser.eraseUser?.({ query }, userId);
    await query(deleteUser, { userId });
    const erased = { id: userId, isResumed, counts: { ...counts } };
    addCount(erased.counts, 'api_tokens', passed.length);
    await record({ query }, erased);
    return erased;
  });
}
