import type { Queryable } from '../database/database.ts';
import { plannedStatement, statement } from '../database/statement.ts';
import type { Extension } from './extension.ts';
import { identifierPattern } from './identifiers.ts';

const renew = statement<never>(
  'renew_extension_subscriptions',
  `insert into extension_subscriptions (event_type, extension, renewed_at)
  select event_type, $1, now() from unnest($2::text[]) as e(event_type) order by event_type
  on conflict (event_type, extension) do update set renewed_at = excluded.renewed_at`,
);

/**
 * Has extensions told of the events that they want, from the next one on. Every process does it when it starts, and a
 * worker each hour: what nobody renews any more ends by itself, see clearLeftSubscriptions.
 */
export async function renewSubscriptions(database: Queryable, extensions: readonly Extension[]): Promise<void> {
  for (const { name, on = {} } of extensions) {
    const types = Object.keys(on);
    if (types.length > 0) await database.query(renew, [name, types]);
  }
}

/** Long enough for a version without the extension to be tried and taken back, and no event is missed. */
const keptHours = 24;
/** A job is tried for some four days. One that is still there after a week is given up, or has no worker. */
const overdueDays = 7;
const batchSize = 1_000;

const deleteLeft = plannedStatement<never>(
  `delete from extension_subscriptions where renewed_at < now() - interval '${keptHours} hours'`,
);

const deleteOverdueJobs = plannedStatement<{ count: number }>(`
  with overdue as (
    select array_agg(id) as ids from (
      select id from graphile_worker.jobs
      where task_identifier ~ '${identifierPattern}' and run_at < now() - interval '${overdueDays} days'
        and locked_at is null
      limit ${batchSize}
    ) j
  )
  select count(c.id)::int as count from overdue, graphile_worker.complete_jobs(overdue.ids) c`);

/** Ends what extensions have left that are not in EXTENSIONS any more: their subscriptions, and jobs without a worker. */
export async function clearLeftSubscriptions(queue: Queryable, stopping: AbortSignal): Promise<void> {
  await queue.query(deleteLeft, []);
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deleteOverdueJobs, []);
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
