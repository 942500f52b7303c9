import type { Config } from '../config.ts';
import type { Queryable } from '../database/database.ts';
import { bigint, integer, sql } from '../database/sql.ts';
import { chargeCounters } from './rate-limit.ts';

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

const keepOnPrimary = sql(
  'keep_on_primary',
  { arguments: { tokenId: bigint(), primaryReadMs: integer() }, row: {} },
  `with charge (key, window_started_at, expires_at) as (
    select 'wrote:' || $tokenId::bigint, now(), now() + $primaryReadMs::int * interval '1 millisecond'
  ),
  charged as (${chargeCounters})
  select from charged`,
);

/** Lets a token read its lists from the primary for a while, as after a write. Does nothing without a read replica. */
export async function readFromPrimary(database: Queryable, tokenId: number, config: ReplicaSettings) {
  const primaryReadMs = primaryReadMsOf(config);
  if (primaryReadMs > 0) await database.query(keepOnPrimary, { tokenId, primaryReadMs });
}
