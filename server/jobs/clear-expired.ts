import { sql } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { query } from '../database/query.ts';
import { primaryKeyOf } from '../database/tables.ts';

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

/** A periodic scan over all accounts. It skips rows that requests have locked, so that neither waits for the other. */
const deleteExpired = expiringTables.map(table => {
  const key = primaryKeyOf(table);
  const keyOf = (alias: string) => sql.join(key.map(column => sql.ref(`${alias}.${column}`)));
  return query(
    `delete_expired_${table}`,
    db =>
      db
        .with(
          cte => cte('expired').materialized(),
          cte =>
            cte
              .selectFrom(table)
              .select(key.map(column => sql.ref(column).as(column)))
              .where('expires_at', '<', sql<string>`now()`)
              .limit(batchSize)
              .forUpdate()
              .skipLocked(),
        )
        .with('deleted', cte =>
          cte
            .deleteFrom(table)
            .using('expired as e')
            .where(sql<boolean>`(${keyOf(table)}) = (${keyOf('e')})`)
            .returning(sql`1`.as('one')),
        )
        .selectFrom('deleted')
        .select(deleted => deleted.fn.countAll<number>().as('count')),
    { isPrepared: false },
  );
});

/** Deletes expired rows, in batches that hold their locks briefly. */
export async function clearExpired(queue: Queryable, stopping: AbortSignal): Promise<void> {
  for (const deletion of deleteExpired) {
    while (!stopping.aborted) {
      const [deleted] = await queue.query(deletion, {});
      if ((deleted?.count ?? 0) < batchSize) break;
    }
  }
}
