import type { Queryable } from '../database/database.ts';
import { plannedStatement } from '../database/statement.ts';

/** The tables whose rows end at their expires_at: counters, stored answers, sign-ins, links, and what OAuth keeps. */
export const expiringTables = [
  'rate_limits',
  'idempotency_keys',
  'sessions',
  'password_links',
  'invitations',
  'oauth_records',
] as const;

const batchSize = 5_000;

/** A row that a request has locked is left for the next time: neither waits for the other. */
const deleteExpired = expiringTables.map(table =>
  plannedStatement<{ count: number }>(`
    with expired as materialized (
      select ctid from ${table} where expires_at < now() limit ${batchSize} for update skip locked
    ), deleted as (
      delete from ${table} t using expired e where t.ctid = e.ctid returning 1
    )
    select count(*)::int as count from deleted`),
);

/** Removes what has expired, in batches, so that none holds its locks for long. */
export async function clearExpired(queue: Queryable, stopping: AbortSignal): Promise<void> {
  for (const statement of deleteExpired) {
    while (!stopping.aborted) {
      const [deleted] = await queue.query(statement, []);
      if ((deleted?.count ?? 0) < batchSize) break;
    }
  }
}
