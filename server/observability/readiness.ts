import type { Queryable } from '../database/database.ts';
import { inTimeOr } from '../database/in-time.ts';
import { streamsOf } from '../database/migration-files.ts';
import { hasPendingMigrations } from '../database/migrator.ts';
import { query } from '../database/query.ts';
import type { ServerDependencies } from '../dependencies.ts';

export type ReadinessCheck = 'database' | 'migrations' | 'cron';

/** What each check may take. With what admission may wait for the limit of the address, a probe answers within 2 s. */
const timeoutMs = 1_300;

/**
 * The checks of GET /ready, answering which failed (Operations probes). They only read, and a check without an answer
 * in time has failed. Their connections are their own: a server whose pool is full is busy and not out of order, and
 * who took it out of service for that would send its load to the next one.
 */
export function buildReadiness(server: ServerDependencies): () => Promise<ReadinessCheck[]> {
  const { reserve } = server.database;
  const streams = streamsOf(server.extensions);
  const checks: Record<ReadinessCheck, () => Promise<boolean>> = {
    database: () => answersQuery(reserve),
    migrations: async () => !(await hasPendingMigrations(reserve, streams)),
    cron: () => hasRecentHeartbeat(reserve, server),
  };

  async function check(): Promise<ReadinessCheck[]> {
    const names = Object.keys(checks) as ReadinessCheck[];
    const passed = await Promise.all(names.map(name => inTimeOr(checks[name](), timeoutMs, false)));
    const failed = names.filter((_, index) => !passed[index]);
    if (failed.length > 0) server.audit.record('readiness.not_ready', { failed });
    return failed;
  }

  let underWay: Promise<ReadinessCheck[]> | undefined;
  return () => {
    // However many ask at once, and whoever they are, the database is asked once.
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

async function hasRecentHeartbeat(
  database: Queryable,
  { clock, config }: Pick<ServerDependencies, 'clock' | 'config'>,
): Promise<boolean> {
  const [heartbeat] = await database.query(selectHeartbeat, {});
  if (!heartbeat) return false;
  const ageMs = clock.now().getTime() - new Date(heartbeat.recorded_at).getTime();
  return ageMs <= config.READINESS_CRON_MAX_AGE_MINUTES * 60_000;
}
