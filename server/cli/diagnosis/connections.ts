import { type Kysely, sql } from 'kysely';
import type { Config } from '../../config.ts';
import type { Tables } from '../../database/tables.ts';
import { type Finding, ok, warning } from './finding.ts';

/**
 * The command `doctor` warns if two clocks differ by more than this time. From half a minute on, a server can refuse
 * correct two-factor codes.
 */
const maxClockDifferenceMs = 5000;

/** Compares the clock of this machine with the clock of PostgreSQL. */
export async function diagnoseClock(db: Kysely<Tables>): Promise<Finding> {
  const sentAt = Date.now();
  const { now } = await db
    .selectNoFrom(sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`.as('now'))
    .executeTakeFirstOrThrow();
  const receivedAt = Date.now();
  // PostgreSQL read its clock at some time between the two readings of this clock.
  const difference = Math.max(sentAt - now, now - receivedAt, 0);
  if (difference <= maxClockDifferenceMs) return ok('The clocks of this machine and of PostgreSQL agree');
  return warning(
    `The clocks of this machine and of PostgreSQL differ by ${Math.round(difference / 1000)} seconds`,
    'Synchronize the clocks of all machines, for example with chrony or systemd-timesyncd',
  );
}

/** Compares the connections that PostgreSQL allows with the open connections, and with the maximum of one process. */
export async function diagnoseConnections(db: Kysely<Tables>, config: Config): Promise<Finding> {
  const { allowed, open } = await db
    .selectNoFrom([
      sql<number>`current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0)`.as('allowed'),
      sql<number>`(select count(*)::int from pg_stat_activity where backend_type = 'client backend')`.as('open'),
    ])
    .executeTakeFirstOrThrow();
  const needed = connectionsOf(config);
  const facts = `PostgreSQL allows ${allowed} connections, ${open} are open, and a process opens up to ${needed}`;
  if (needed <= allowed && open <= 0.8 * allowed) return ok(facts);
  return warning(facts, 'Raise max_connections of PostgreSQL, or lower DATABASE_POOL_SIZE and WORKER_CONCURRENCY');
}

/** The maximum number of connections of one process: see docs/deployment.md. */
function connectionsOf({ DATABASE_POOL_SIZE, WORKER, WORKER_CONCURRENCY }: Config): number {
  return DATABASE_POOL_SIZE + 4 + (WORKER ? 2 * WORKER_CONCURRENCY + 7 : 0);
}
