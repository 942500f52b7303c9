import type { NotNull } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';

/** An account whose grace is over. */
export type DueAccount = RowOf<typeof selectDueAccounts>;

/** A user whose grace is over. */
export type DueUser = RowOf<typeof selectDueUsers>;

/** Scans all accounts: any may be due. An erasure that began is due even if the grace has become longer. */
const selectDueAccounts = query('select_due_accounts', (db, $: Arguments<{ dueBefore: Date }>) =>
  db
    .selectFrom('accounts')
    .select(['id', 'slug', 'name', 'deletion_scheduled_at'])
    .select(a => a('erasure_began_at', 'is not', null).as('is_begun'))
    .where('deletion_scheduled_at', 'is not', null)
    .where(a => a.or([a('deletion_scheduled_at', '<=', $.dueBefore), a('erasure_began_at', 'is not', null)]))
    .orderBy('id')
    .$narrowType<{ deletion_scheduled_at: NotNull }>(),
);

const selectDueUsers = query('select_due_users', (db, $: Arguments<{ dueBefore: Date }>) =>
  db
    .selectFrom('users')
    .select(['id', 'email', 'name', 'deletion_requested_at'])
    .select(u => u('erasure_began_at', 'is not', null).as('is_begun'))
    .where('deletion_requested_at', 'is not', null)
    .where(u => u.or([u('deletion_requested_at', '<=', $.dueBefore), u('erasure_began_at', 'is not', null)]))
    .orderBy('id')
    .$narrowType<{ email: NotNull; deletion_requested_at: NotNull }>(),
);

/** The accounts whose deletion was scheduled at a time or before. */
export function listDueAccounts(database: Queryable, dueBefore: Date): Promise<DueAccount[]> {
  return database.query(selectDueAccounts, { dueBefore });
}

/** The users who asked for deletion at a time or before. */
export function listDueUsers(database: Queryable, dueBefore: Date): Promise<DueUser[]> {
  return database.query(selectDueUsers, { dueBefore });
}
