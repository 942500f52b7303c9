import type { Queryable } from '../database/database.ts';
import { plannedStatement } from '../database/statement.ts';

/** How long the log of events, deliveries and attempts reaches back. */
const keptDays = 30;
const batchSize = 1_000;

/** An event that is still to be delivered stays until it is, or is given up. */
const deleteOldEvents = plannedStatement<{ count: number }>(`
  with old as (
    select e.id from events e
    where e.occurred_at < now() - ${keptDays} * interval '1 day'
      and not exists (select from webhook_deliveries d where d.event_id = e.id and d.state = 'pending')
    order by e.occurred_at
    limit ${batchSize}
  ), deleted as (
    delete from events e using old where e.id = old.id returning e.id
  )
  select count(*)::int as count from deleted`);

/** Removes old events with what hangs on them, in batches, so that none holds its locks for long. */
export async function clearOldEvents(queue: Queryable, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deleteOldEvents, []);
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
