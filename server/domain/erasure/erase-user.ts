import type { Database } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { addCount } from './batches.ts';
import { beginUserErasure, isOfIssuer } from './begin-user-erasure.ts';
import { changeUserRows, findAccountLeft } from './change-user-rows.ts';
import type { ErasureOptions, ErasureResult, UserEraser } from './erasure.ts';
import { requirePlaceholder } from './placeholder.ts';
import type { ShownPerson } from './redact-person.ts';

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
  const { now, batchSize } = options;
  const placeholder = await requirePlaceholder(database, now);
  for (;;) {
    await changeUserRows(database, { userId, placeholder, batchSize }, { now, counts: result.counts });
    const outcome = await finish(database, placeholder, result, options);
    if (outcome !== 'left') return outcome;
  }
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
