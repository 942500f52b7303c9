import { sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';

type ReplicaSettings = Pick<Config, 'DATABASE_READ_URL' | 'DATABASE_READ_MAX_LAG_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS'>;

/**
 * Returns for how many milliseconds a token reads its lists from the primary, after a write or after it asked for a
 * cursor of the events. This is the maximum duration of a statement, plus the maximum lag of the replica. Without a read
 * replica, the time is 0.
 */
export function primaryReadMsOf(config: ReplicaSettings): number {
  if (config.DATABASE_READ_URL === undefined) return 0;
  return config.DATABASE_STATEMENT_TIMEOUT_MS + config.DATABASE_READ_MAX_LAG_MS;
}

/** Adds the counter that find_tokens also adds for a write. The times are those of the database. */
const keepOnPrimary = query('keep_on_primary', (db, $: Arguments<{ key: string; primaryReadMs: number }>) =>
  db
    .insertInto('rate_limits')
    .values({
      key: $.key,
      window_started_at: sql`now()`,
      expires_at: sql`now() + ${$.primaryReadMs}::integer * interval '1 millisecond'`,
      count: 1,
    })
    .onConflict(conflict =>
      conflict.column('key').doUpdateSet(row => ({
        expires_at: sql`greatest(rate_limits.expires_at, ${row.ref('excluded.expires_at')})`,
      })),
    ),
);

/** Lets a token read its lists from the primary for a while, as after a write. Does nothing without a read replica. */
export async function readFromPrimary(database: Queryable, tokenId: number, config: ReplicaSettings) {
  const primaryReadMs = primaryReadMsOf(config);
  if (primaryReadMs > 0) await database.query(keepOnPrimary, { key: `wrote:${tokenId}`, primaryReadMs });
}
