import type { Queryable } from '../database/database.ts';
import { inTimeOr } from '../database/in-time.ts';
import type { RowOf } from '../database/query.ts';
import { double, integer, sql } from '../database/sql.ts';

type WaitingWork = RowOf<typeof selectWaitingWork>;

/** Counting goes no further: when as much waits, more of it says nothing new, and the count costs. */
const mostCounted = 10_000;

/** Of all accounts, for the operator of the server. */
const selectWaitingWork = sql(
  'select_waiting_work',
  { arguments: {}, row: { dueJobs: integer(), oldestDueSeconds: double(), pendingDeliveries: integer() } },
  `select
    (select count(*)::int from (
      select from graphile_worker._private_jobs where is_available and run_at <= now() limit ${mostCounted}
    ) due) as "dueJobs",
    coalesce((
      select greatest(0, extract(epoch from now() - run_at))::float
      from graphile_worker._private_jobs where is_available and run_at <= now() order by run_at limit 1
    ), 0) as "oldestDueSeconds",
    (select count(*)::int from (
      select from webhook_deliveries where state = 'pending' limit ${mostCounted}
    ) pending) as "pendingDeliveries"`,
);

/** A scrape that waits longer is late: the figures of the process itself are worth more than these. */
const timeoutMs = 1_000;

/** What waits in the database for some worker; undefined when PostgreSQL does not answer in time. */
export async function countWaitingWork(database: Queryable): Promise<WaitingWork | undefined> {
  const [work] = await inTimeOr(database.query(selectWaitingWork, {}), timeoutMs, []);
  return work;
}
