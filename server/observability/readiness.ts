import { hasPendingMigrations } from '../database/migrator.ts';
import { statement } from '../database/statement.ts';
import type { ServerDependencies } from '../dependencies.ts';

export type ReadinessCheck = 'database' | 'migrations' | 'cron';

/** A probe that hangs is worse than one that fails. */
const timeoutMs = 2_000;

/** The checks of GET /ready that fail (Operations probes). Reads only; a check without an answer in time has failed. */
export async function checkReadiness(server: ServerDependencies): Promise<ReadinessCheck[]> {
  const checks = {
    database: answersQuery,
    migrations: async () => !(await hasPendingMigrations(server.database)),
    cron: hasRecentHeartbeat,
  } as const;
  const names = Object.keys(checks) as ReadinessCheck[];
  const passed = await Promise.all(names.map(name => inTime(checks[name](server))));
  const failed = names.filter((_, index) => !passed[index]);
  if (failed.length > 0) server.audit.record('readiness.not_ready', { failed });
  return failed;
}

const selectOne = statement<{ one: number }>('select_one', 'select 1 as one');

async function answersQuery({ database }: ServerDependencies): Promise<boolean> {
  return (await database.query(selectOne, [])).length === 1;
}

const selectHeartbeat = statement<{ recorded_at: string }>(
  'select_heartbeat',
  `select recorded_at from heartbeats where name = 'cron'`,
);

async function hasRecentHeartbeat({ database, clock, config }: ServerDependencies): Promise<boolean> {
  const [heartbeat] = await database.query(selectHeartbeat, []);
  if (!heartbeat) return false;
  const ageMs = clock.now().getTime() - new Date(heartbeat.recorded_at).getTime();
  return ageMs <= config.READINESS_CRON_MAX_AGE_MINUTES * 60_000;
}

async function inTime(check: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  return Promise.race([check.catch(() => false), late]).finally(() => clearTimeout(timer));
}
