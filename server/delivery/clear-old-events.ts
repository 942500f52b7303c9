import { sql } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { query } from '../database/query.ts';

/** How long events, deliveries and attempts are kept. */
const keptDays = 30;
const batchSize = 1_000;

/** An event with a pending delivery stays until the delivery ends. A periodic scan over all accounts. */
const deleteOldEvents = query(
  'delete_old_events',
  db =>
    db
      .with('old', cte =>
        cte
          .selectFrom('events as e')
          .select(['e.account_id', 'e.id'])
          .where('e.occurred_at', '<', sql<string>`now() - ${keptDays} * interval '1 day'`)
          .where(e =>
            e.not(
              e.exists(
                e
                  .selectFrom('webhook_deliveries as d')
                  .whereRef('d.account_id', '=', 'e.account_id')
                  .whereRef('d.event_id', '=', 'e.id')
                  .where('d.state', '=', 'pending'),
              ),
            ),
          )
          .orderBy('e.occurred_at')
          .limit(batchSize),
      )
      .with('deleted', cte =>
        cte
          .deleteFrom('events as e')
          .using('old')
          .whereRef('e.account_id', '=', 'old.account_id')
          .whereRef('e.id', '=', 'old.id')
          .returning('e.id'),
      )
      .selectFrom('deleted')
      .select(deleted => deleted.fn.countAll<number>().as('count')),
  { isPrepared: false },
);

/** Deletes old events with their deliveries and notifications, in batches that hold their locks briefly. */
export async function clearOldEvents(queue: Queryable, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deleteOldEvents, {});
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
