import type { Database, Queryable } from '../../database/database.ts';
import { plannedStatement, statement } from '../../database/statement.ts';
import { addCount, batchedRemoval, batchedUpdate, runBatches } from './batches.ts';
import { beginUserErasure } from './begin-user-erasure.ts';
import type { ErasureOptions, ErasureResult, UserEraser } from './erasure.ts';
import { moveIdeas } from './move-ideas.ts';
import { requirePlaceholder } from './placeholder.ts';
import { redactAnswers } from './redact-answers.ts';
import { redactActed } from './redact-events.ts';
import type { ShownPerson } from './redact-person.ts';

/** Rows that are of the user alone. */
const removals = ['followers', 'notifications', 'user_blocks'].map(table => batchedRemoval(table, 'user_id = $1'));
/** Votes stay and count, each voter's once, and are nobody's. */
const unlinkVoters = batchedUpdate('voters', 'user_id = null', 'user_id = $1');
const passComments = batchedUpdate('comments', 'author_id = $3::bigint', 'author_id = $1');
/** The tokens are revoked: nobody may be answered from these again. */
const removeAnswers = batchedRemoval(
  'idempotency_keys',
  'token_id = any (array(select id from api_tokens where issuer_id = $1))',
);

export interface UserErasureOptions extends ErasureOptions {
  erasers: readonly UserEraser[];
}

/** What became of a user who is due: erased, or kept as long as something holds them. */
export type UserErasure = ErasureResult | { id: number; heldBy: string[] };

/**
 * Erases a user whose grace is over (Operational rules, 2; User-deletion placeholders). Undefined where there is
 * nothing to do: the user stays after all, or another run has erased them.
 *
 * It begins with a mark, in one transaction with the end of all access and of the profile; from then on it cannot be
 * called off. The rest goes in batches, each a transaction of its own. The last one looks under a lock whether anything
 * is left, such as what a request wrote that had been let in before, and removes the user only when nothing is.
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

/** Everything that many rows of are the user's. Each step leaves behind only what it need not look at again. */
async function changeRows(
  database: Database,
  placeholder: ShownPerson,
  { id: userId, counts }: ErasureResult,
  { now, batchSize }: UserErasureOptions,
) {
  const batches = { batchSize, counts };
  addCount(counts, 'events', await redactActed(database, userId, placeholder, batchSize));
  await runBatches(database, passComments, [userId, placeholder.id], batches);
  addCount(counts, 'ideas', await moveIdeas(database, { userId, placeholder, now, batchSize }));
  await runBatches(database, removeAnswers, [userId], batches);
  // After the ideas: no answer that is stored from then on shows the user.
  addCount(counts, 'idempotency_keys', await redactAnswers(database, userId, placeholder, batchSize));
  await runBatches(database, unlinkVoters, [userId], batches);
  for (const removal of removals) await runBatches(database, removal, [userId], batches);
}

const lockUser = statement<{ id: number }>('lock_user', 'select id from users where id = $1 for update');

const selectLeft = plannedStatement<{ is_left: boolean }>(`
  select exists (select from events where actor_id = $1)
    or exists (select from comments where author_id = $1)
    or exists (select from ideas where author_id = $1)
    or exists (select from voters where user_id = $1)
    or exists (
      select from api_tokens t join idempotency_keys k on k.token_id = t.id where t.issuer_id = $1
    ) as is_left`);

/** A name such as "Ada's laptop" names a person too. */
const passTokens = plannedStatement<{ count: number }>(`
  with passed as (
    update api_tokens set issuer_id = $2, name = 'Token of a deleted user', revoked_at = coalesce(revoked_at, $3)
    where issuer_id = $1
    returning id
  )
  select count(*)::int as count from passed`);

/** What was issued under the tokens while the erasure began. */
const removeGrants = plannedStatement<never>(
  'delete from oauth_records where token_id = any (array(select id from api_tokens where issuer_id = $1))',
);

/** What else names the user goes by the cascades of its foreign keys, and is a row here and there at most. */
const deleteUser = plannedStatement<never>('delete from users where id = $1');

/** Removes the user, unless something was written meanwhile that is still to be passed on. */
function finish(
  database: Database,
  placeholder: ShownPerson,
  { id: userId, isResumed, counts }: ErasureResult,
  { now, erasers, record }: UserErasureOptions,
): Promise<ErasureResult | undefined | 'left'> {
  return database.transaction(async ({ query }) => {
    // Waits for whoever refers to the user and has not committed; whoever comes later finds the user gone.
    const [user] = await query(lockUser, [userId]);
    if (!user) return undefined;
    if (await isAnythingLeft({ query }, userId)) return 'left';
    await query(removeGrants, [userId]);
    const [passed] = await query(passTokens, [userId, placeholder.id, now]);
    for (const eraser of erasers) await eraser.eraseUser?.({ query }, userId);
    await query(deleteUser, [userId]);
    const erased = { id: userId, isResumed, counts: { ...counts } };
    addCount(erased.counts, 'api_tokens', passed?.count ?? 0);
    await record({ query }, erased);
    return erased;
  });
}

async function isAnythingLeft(transaction: Queryable, userId: number): Promise<boolean> {
  const [row] = await transaction.query(selectLeft, [userId]);
  return row?.is_left ?? false;
}
