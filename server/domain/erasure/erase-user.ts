import type { Kysely } from 'kysely';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { mailboxOf } from '../users/canonical-address.ts';
import {
  addCount,
  type ErasureOptions,
  type ErasureResult,
  isOfTokens,
  type RowCounts,
  type UserEraser,
} from './batches.ts';
import { changeUserRows, findAccountLeft } from './change-user-rows.ts';
import { forgetErrorsNaming, removeUserJobs } from './jobs.ts';
import { placeholderName, requirePlaceholder, type ShownPerson } from './placeholder.ts';
import { findHolds } from './request-deletion.ts';

/*
 * A statement with these arguments searches all accounts, so that the user loses access to all accounts in one
 * transaction.
 */

type OfUser = Arguments<{ userId: number }>;

/**
 * Runs before lockUser, because changes of a member's role take the locks in the same order. This prevents deadlocks.
 */
const lockMemberships = query('lock_memberships_for_erasure', (db, $: OfUser) =>
  db.selectFrom('memberships').select('account_id').where('user_id', '=', $.userId).orderBy('account_id').forUpdate(),
);

const lockUser = query('lock_user_for_erasure', (db, $: Arguments<{ userId: number; dueBefore: Date }>) =>
  db
    .selectFrom('users')
    .select(['email', 'canonical_email', 'name', 'notification_email', 'erasure_began_at'])
    .select(u => u('deletion_requested_at', '<=', $.dueBefore).as('is_due'))
    .where('id', '=', $.userId)
    .where('is_placeholder', '=', false)
    .forUpdate(),
);

/**
 * Replaces the user's profile. From now on every reader sees the name that all erased users have. The new e-mail
 * address is unique and ends in .invalid, so it receives no mail (RFC 2606). A new sign-up may use the old address.
 */
const clearProfile = query(
  'begin_user_erasure',
  (db, $: Arguments<{ userId: number; now: Date; name: string; address: string }>) =>
    db
      .updateTable('users')
      .set({
        erasure_began_at: $.now,
        name: $.name,
        email: $.address,
        canonical_email: $.address,
        confirmed_email: null,
        avatar_url: null,
        notification_email: null,
        language: null,
      })
      .where('id', '=', $.userId),
);

const revokeTokens = query('revoke_tokens_of_user', (db, $: Arguments<{ userId: number; now: Date }>) =>
  db
    .updateTable('api_tokens')
    .set({ revoked_at: $.now })
    .where('issuer_id', '=', $.userId)
    .where('revoked_at', 'is', null),
);

interface Identity {
  userId: number;
  canonicalEmail: string | null;
  email: string | null;
}

/**
 * The statements that remove everything that gives the user access, such as memberships, passwords, sessions, external
 * identities, mailed links, OAuth records and invitations. They also remove the picture. Recovery codes are removed
 * before second factors. Otherwise a cascade would remove the codes together with the second factors, and the result
 * would not count them.
 */
const accesses: { table: keyof Tables; removal: Query<Identity, unknown> }[] = [
  ...(
    [
      'memberships',
      'sign_in_methods',
      'recovery_codes',
      'second_factors',
      'sign_in_challenges',
      'sessions',
      'identities',
      'password_links',
      'pictures',
    ] as const
  ).map(table => ({
    table,
    removal: query(`remove_${table}_of_user`, (db, $: OfUser) =>
      db.deleteFrom(table).where('user_id', '=', $.userId).returning('user_id'),
    ),
  })),
  {
    table: 'sign_in_links',
    removal: query('remove_sign_in_links_of_user', (db, $: Arguments<Identity>) =>
      db
        .deleteFrom('sign_in_links')
        .where(l => l.or([l('user_id', '=', $.userId), l('canonical_email', '=', $.canonicalEmail)]))
        .returning('user_id'),
    ),
  },
  {
    table: 'oauth_records',
    removal: query('remove_oauth_records_of_user', (db, $: OfUser) =>
      db
        .deleteFrom('oauth_records')
        .where(r => r.or([r('user_id', '=', $.userId), isOfIssuer(db, $)]))
        .returning('model'),
    ),
  },
  {
    table: 'invitations',
    removal: query('remove_invitations_of_user', (db, $: Arguments<Identity>) =>
      db
        .deleteFrom('invitations')
        .where(i =>
          i.or([
            i('inviter_id', '=', $.userId),
            i('canonical_email', '=', $.canonicalEmail),
            i.and([i('canonical_email', 'is', null), i('email', '=', $.email)]),
          ]),
        )
        .returning('id'),
    ),
  },
];

function isOfIssuer(db: Kysely<Tables>, $: OfUser) {
  return isOfTokens(db.selectFrom('api_tokens').select('id').where('issuer_id', '=', $.userId));
}

interface UserErasureOptions extends ErasureOptions {
  erasers: readonly UserEraser[];
}

async function eraseInExtensions(erasers: readonly UserEraser[], transaction: Queryable, userId: number) {
  for (const eraser of erasers) await eraser.eraseUser?.(transaction, userId);
}

/**
 * Begins the erasure of a user whose deletion is due, or returns the reasons that prevent it. Cancelling the deletion,
 * or making the user an owner, also locks the user. So the first operation to get the lock wins. Returns undefined if
 * the user does not exist or the deletion is not due.
 */
function beginUserErasure(
  database: Database,
  userId: number,
  { now, dueBefore, erasers }: UserErasureOptions,
): Promise<{ isResumed: boolean; counts: RowCounts } | { heldBy: string[] } | undefined> {
  return database.transaction(async ({ query }) => {
    await query(lockMemberships, { userId });
    const [user] = await query(lockUser, { userId, dueBefore });
    const counts: RowCounts = {};
    if (user?.erasure_began_at != null) return { isResumed: true, counts };
    if (!user?.is_due) return undefined;
    // The user is locked now. A transaction that makes the user an owner has either committed before or will fail.
    const heldBy = await findHolds({ query }, userId);
    if (heldBy.length > 0) return { heldBy };

    // An extension may recognize its data by the e-mail address, so call it before the server clears the profile.
    await eraseInExtensions(erasers, { query }, userId);
    await query(clearProfile, { userId, now, name: placeholderName, address: `erased-${userId}@erased.invalid` });
    await query(revokeTokens, { userId, now });
    const { name, email, canonical_email: canonicalEmail, notification_email: notificationEmail } = user;
    const identity = { userId, canonicalEmail, email };
    for (const { table, removal } of accesses) addCount(counts, table, (await query(removal, identity)).length);
    addCount(counts, 'jobs', await removeUserJobs({ query }, identity));
    const addresses = [email, notificationEmail].filter(address => address !== null);
    // Also removes the form of the address that mailboxOf() returns, because an error message of a mail server may
    // contain this form.
    await forgetErrorsNaming({ query }, [name, ...addresses, ...addresses.map(mailboxOf)]);
    return { isResumed: false, counts };
  });
}

/**
 * Erases a user whose grace period is over (specification: Operational rules, 2; User-deletion placeholders). Returns
 * the reasons if something prevents the erasure. Returns undefined if the deletion was cancelled, or if another run has
 * erased the user.
 *
 * The first transaction lets extensions erase their data, marks the user, ends all access and clears the profile. After
 * that transaction, nobody can cancel the deletion. The next transactions change the user's rows account by account,
 * one batch in each transaction.
 *
 * The last transaction locks the user. If a request that began earlier has written more rows, another round of batches
 * changes them. Otherwise the last transaction lets extensions erase newer data, and removes the user.
 */
export async function eraseUser(
  database: Database,
  userId: number,
  options: UserErasureOptions,
): Promise<ErasureResult | { heldBy: string[] } | undefined> {
  const begin = await beginUserErasure(database, userId, options);
  if (!begin || 'heldBy' in begin) return begin;

  const result = { id: userId, ...begin };
  const { now, batchSize } = options;
  const placeholder = await requirePlaceholder(database, now);
  for (;;) {
    await changeUserRows(database, { userId, placeholder, batchSize }, { now, counts: result.counts });
    const outcome = await finish(database, placeholder, result, options);
    if (outcome !== 'left') return outcome;
  }
}

const lockErased = query('lock_user', (db, $: OfUser) =>
  db.selectFrom('users').select('id').where('id', '=', $.userId).forUpdate(),
);

/**
 * Makes the placeholder user, who stands for all erased users, the issuer of the user's API tokens. Also renames the
 * tokens, because the name of a token may contain a person's name, such as "Ada's laptop".
 */
const passTokens = query(
  'pass_tokens_of_user',
  (db, $: Arguments<{ userId: number; placeholderId: number; now: Date }>) =>
    db
      .updateTable('api_tokens')
      .set(t => ({
        issuer_id: $.placeholderId,
        name: 'Token of a deleted user',
        revoked_at: t.fn.coalesce('revoked_at', $.now),
        last_used_network: null,
      }))
      .where('issuer_id', '=', $.userId)
      .returning('id'),
);

/** Removes the OAuth records of tokens that were issued while the erasure was beginning. */
const removeGrants = query('remove_grants_of_user', (db, $: OfUser) =>
  db.deleteFrom('oauth_records').where(isOfIssuer(db, $)),
);

/** Foreign keys remove the few remaining rows that refer to the user. */
const deleteUser = query('delete_user', (db, $: OfUser) => db.deleteFrom('users').where('id', '=', $.userId));

/** Removes the user. Returns 'left' if the erasure still has to change new rows of the user. */
function finish(
  database: Database,
  placeholder: ShownPerson,
  { id: userId, isResumed, counts }: ErasureResult,
  { now, erasers, record }: UserErasureOptions,
): Promise<ErasureResult | undefined | 'left'> {
  return database.transaction(async ({ query }) => {
    // Locks the user. The lock waits for open transactions that refer to the user, and later transactions no longer
    // find the user.
    const [user] = await query(lockErased, { userId });
    if (!user) return undefined;
    if ((await findAccountLeft({ query }, userId)) !== undefined) return 'left';
    await query(removeGrants, { userId });
    const passed = await query(passTokens, { userId, placeholderId: placeholder.id, now });
    await eraseInExtensions(erasers, { query }, userId);
    await query(deleteUser, { userId });
    const erased = { id: userId, isResumed, counts: { ...counts } };
    addCount(erased.counts, 'api_tokens', passed.length);
    await record({ query }, erased);
    return erased;
  });
}
