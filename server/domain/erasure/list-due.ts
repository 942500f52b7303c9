import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';

/** An account whose grace is over. */
export interface DueAccount {
  id: number;
  slug: string;
  name: string;
  deletion_scheduled_at: string;
  is_begun: boolean;
}

/** A user whose grace is over. */
export interface DueUser {
  id: number;
  email: string;
  name: string;
  deletion_requested_at: string;
  is_begun: boolean;
}

/** What was begun is finished, also when the grace was made longer meanwhile. */
const selectDueAccounts = plannedStatement<DueAccount>(`
  select id, slug, name, deletion_scheduled_at, erasure_began_at is not null as is_begun
  from accounts
  where deletion_scheduled_at is not null and (deletion_scheduled_at <= $1 or erasure_began_at is not null)
  order by id`);

const selectDueUsers = plannedStatement<DueUser>(`
  select id, email, name, deletion_requested_at, erasure_began_at is not null as is_begun
  from users
  where deletion_requested_at is not null and (deletion_requested_at <= $1 or erasure_began_at is not null)
  order by id`);

/** The accounts whose deletion was scheduled at a time or before. */
export function listDueAccounts(database: Queryable, dueBefore: Date): Promise<DueAccount[]> {
  return database.query(selectDueAccounts, [dueBefore]);
}

/** The users who asked for deletion at a time or before. */
export function listDueUsers(database: Queryable, dueBefore: Date): Promise<DueUser[]> {
  return database.query(selectDueUsers, [dueBefore]);
}
