import type { Queryable } from '../database/database.ts';
import { inTimeOr } from '../database/in-time.ts';
import { streamsOf } from '../database/migration-files.ts';
import { hasPendingMigrations } from '../database/migrator.ts';
import { query } from '../database/query.ts';
import type { ServerDependencies } from '../dependencies.ts';

/**
 * The time limit of each check, in milliseconds. With this limit, the server answers GET /ready within two seconds,
 * including the time to check the rate limit.
 */
const timeoutMs = 1_300;

export const readinessChecks = ['database', 'migrations', 'cron'] as const;
export type ReadinessCheck = (typeof readinessChecks)[number];

/**
 * Runs the checks of GET /ready and returns the failed checks (specification: Operations probes). The checks only read.
 * A check fails if it times out. The checks use reserved connections, so that a busy server with an exhausted
 * connection pool still counts as ready. If a load balancer removed a busy server, the next server would get its load.
 */
export async function findFailedChecks(server: ServerDependencies): Promise<ReadinessCheck[]> {
  const { reserve } = server.database;
  const streams = streamsOf(server.extensions);
  const checks: Record<ReadinessCheck, () => Promise<boolean>> = {
    database: () => answersQuery(reserve),
    migrations: async () => !(await hasPendingMigrations(reserve, streams)),
    cron: () => hasRecentHeartbeat(reserve, server),
  };
  const passed = await Promise.all(readinessChecks.map(name => inTimeOr(checks[name](), timeoutMs, false)));
  return readinessChecks.filter((_, index) => !passed[index]);
}

/** Builds the check for GET /ready. The check records a failure in the audit log. */
export function buildReadiness(server: ServerDependencies): () => Promise<ReadinessCheck[]> {
  async function check(): Promise<ReadinessCheck[]> {
    const failed = await findFailedChecks(server);
    if (failed.length > 0) server.audit.record('readiness.not_ready', { failed });
    return failed;
  }

  let underWay: Promise<ReadinessCheck[]> | undefined;
  return () => {
    // Concurrent probes share one run of the checks.
    underWay ??= check().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

const selectOne = query('select_one', db => db.selectNoFrom(one => one.lit(1).as('one')));

async function answersQuery(database: Queryable): Promise<boolean> {
  return (await database.query(selectOne, {})).length === 1;
}

const selectHeartbeat = query('select_heartbeat', db =>
  db.selectFrom('heartbeats').select('recorded_at').where('name', '=', 'cron'),
);

/** Returns the time when the scheduled jobs last ran. Undefined if they have never run on this database. */
export async function readHeartbeat(database: Queryable): Promise<string | undefined> {
  const [heartbeat] = await database.query(selectHeartbeat, {});
  return heartbeat?.recorded_at;
}

async function hasRecentHeartbeat(
  database: Queryable,
  { clock, config }: Pick<ServerDependencies, 'clock' | 'config'>,
): Promise<boolean> {
  const recordedAt = await readHeartbeat(database);
  if (recordedAt === undefined) return false;
  const ageMs = clock.now().getTime() - new Date(recordedAt).getTime();
  return ageMs <= config.READINESS_CRON_MAX_AGE_MINUTES * 60_000;
}
