import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { isBlocked } from '../members/authority.ts';

/**
 * An external identity of a user: a person at a provider, or in the application that embeds the account's boards.
 * `provider` is null for a person in that application.
 */
export type OwnIdentity = RowOf<typeof selectOwn>;

/** Searches all accounts, because a user may sign in through the identity providers of several accounts. */
const selectOwn = query('select_own_identities', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('identities as i')
    .innerJoin('accounts as a', 'a.id', 'i.account_id')
    .leftJoin('identity_providers as p', join =>
      join.onRef('p.account_id', '=', 'i.account_id').onRef('p.id', '=', 'i.provider_id'),
    )
    .select(['i.account_id', 'i.id', 'a.name as account', 'p.name as provider', 'i.address'])
    .select(['i.created_at', 'i.last_used_at'])
    .where('i.user_id', '=', $.userId)
    .orderBy('i.created_at'),
);

export function listOwnIdentities(db: Queryable, userId: number): Promise<OwnIdentity[]> {
  return db.query(selectOwn, { userId });
}

/**
 * Selects the providers that a user needs to reach all of their accounts. These are the providers of accounts that
 * require a sign-in with a provider. Searches all accounts, because the user may be a member of several accounts.
 */
const selectRequired = query('select_required_providers', (db, $: Arguments<{ userId: number }>) =>
  db
    .selectFrom('memberships as m')
    .innerJoin('accounts as a', 'a.id', 'm.account_id')
    .innerJoin('identity_providers as p', 'p.account_id', 'm.account_id')
    .select(['p.key', 'p.name', 'a.name as account'])
    .where('m.user_id', '=', $.userId)
    .where('m.role', '<>', 'owner')
    .where('a.requires_provider', '=', true)
    .where('a.erasure_began_at', 'is', null)
    .where(m => m.not(isBlocked(m.ref('m.account_id'), m.ref('m.user_id'))))
    .orderBy('a.name')
    .orderBy('p.id'),
);

export function listRequiredProviders(db: Queryable, userId: number): Promise<RowOf<typeof selectRequired>[]> {
  return db.query(selectRequired, { userId });
}
