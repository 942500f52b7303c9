import { sql } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { type Query, query } from '../database/query.ts';
import { primaryKeyOf } from '../database/tables.ts';
import { keptEventHours } from '../domain/events/event-cursor.ts';

/** The tables whose expired rows are deleted. */
export const expiringTables = [
  'rate_limits',
  'idempotency_keys',
  'sessions',
  'sign_in_challenges',
  'password_links',
  'sign_in_links',
  'invitations',
  'oauth_records',
  'used_embedding_tokens',
  'vote_networks',
  'event_waits',
  'vote_followings',
  'token_usage',
] as const;

const expiredBatchSize = 5_000;

/** Deletes the expired rows of all accounts. Skips locked rows, so that the statement does not wait for requests. */
const deleteExpired = expiringTables.map(table => {
  const key = primaryKeyOf(table);
  const keyOf = (alias: string) => sql.join(key.map(column => sql.ref(`${alias}.${column}`)));
  return query(
    `delete_expired_${table}`,
    db =>
      db
        .with(
          cte => cte('expired').materialized(),
          cte =>
            cte
              .selectFrom(table)
              .select(key.map(column => sql.ref(column).as(column)))
              .where('expires_at', '<', sql<string>`now()`)
              .limit(expiredBatchSize)
              .forUpdate()
              .skipLocked(),
        )
        .with('deleted', cte =>
          cte
            .deleteFrom(table)
            .using('expired as e')
            .where(sql<boolean>`(${keyOf(table)}) = (${keyOf('e')})`)
            .returning(sql`1`.as('one')),
        )
        .selectFrom('deleted')
        .select(deleted => deleted.fn.countAll<number>().as('count')),
    { isPrepared: false },
  );
});

/** The batch size for events. It is small, because each event is deleted with its deliveries and notifications. */
const eventBatchSize = 1_000;

/** Deletes old events in all accounts. An event with a pending delivery stays until the delivery ends. */
const deleteOldEvents = query(
  'delete_old_events',
  db =>
    db
      .with('old', cte =>
        cte
          .selectFrom('events as e')
          .select(['e.account_id', 'e.id'])
          .where('e.occurred_at', '<', sql<string>`now() - ${keptEventHours} * interval '1 hour'`)
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
          .limit(eventBatchSize),
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

export async function clearExpired(queue: Queryable, stopping: AbortSignal): Promise<void> {
  for (const deletion of deleteExpired) await clearInBatches(queue, deletion, expiredBatchSize, stopping);
}

/** Deletes old events with their deliveries and notifications. */
export function clearOldEvents(queue: Queryable, stopping: AbortSignal): Promise<void> {
  return clearInBatches(queue, deleteOldEvents, eventBatchSize, stopping);
}

/**
 * The batch size for deleted ideas. It is small, because the rows of each idea's comments and votes are removed
 * together with the idea.
 */
const ideaBatchSize = 10;

/** Removes the rows of deleted ideas whose events have all expired. */
const deleteDeletedIdeas = query(
  'delete_deleted_ideas',
  db =>
    db
      .with('old', cte =>
        cte
          .selectFrom('ideas as i')
          .select(['i.account_id', 'i.id'])
          .where('i.moderation_state', '=', 'deleted')
          .where('i.updated_at', '<', sql<string>`now() - ${keptEventHours} * interval '1 hour'`)
          .where(i =>
            i.not(
              i.exists(
                i
                  .selectFrom('events as e')
                  .whereRef('e.account_id', '=', 'i.account_id')
                  .whereRef('e.idea_id', '=', 'i.id'),
              ),
            ),
          )
          .orderBy('i.updated_at')
          .limit(ideaBatchSize),
      )
      .with('deleted', cte =>
        cte
          .deleteFrom('ideas as i')
          .using('old')
          .whereRef('i.account_id', '=', 'old.account_id')
          .whereRef('i.id', '=', 'old.id')
          .returning('i.id'),
      )
      .selectFrom('deleted')
      .select(deleted => deleted.fn.countAll<number>().as('count')),
  { isPrepared: false },
);

/** Deletes the rows of deleted ideas with their comments and votes. */
export function clearDeletedIdeas(queue: Queryable, stopping: AbortSignal): Promise<void> {
  return clearInBatches(queue, deleteDeletedIdeas, ideaBatchSize, stopping);
}

/** The server shows and keeps the network of a token's last use for this number of days. */
const keptNetworkDays = 30;

/** Removes the network of the last use from tokens that nobody has used for keptNetworkDays. */
const forgetNetworks = query(
  'forget_networks_of_tokens',
  db =>
    db
      .with('old', cte =>
        cte
          .selectFrom('api_tokens as t')
          .select(['t.account_id', 't.id'])
          .where('t.last_used_network', 'is not', null)
          .where('t.last_used_at', '<', sql<string>`now() - ${keptNetworkDays} * interval '1 day'`)
          .limit(expiredBatchSize)
          .forNoKeyUpdate('t')
          .skipLocked(),
      )
      .with('changed', cte =>
        cte
          .updateTable('api_tokens as t')
          .from('old')
          .set({ last_used_network: null })
          .whereRef('t.account_id', '=', 'old.account_id')
          .whereRef('t.id', '=', 'old.id')
          .returning('t.id'),
      )
      .selectFrom('changed')
      .select(changed => changed.fn.countAll<number>().as('count')),
  { isPrepared: false },
);

export function clearTokenNetworks(queue: Queryable, stopping: AbortSignal): Promise<void> {
  return clearInBatches(queue, forgetNetworks, expiredBatchSize, stopping);
}

/**
 * Deletes or clears rows in batches, until no row is left or the worker stops. Each batch holds its locks only for a
 * short time.
 */
async function clearInBatches(
  queue: Queryable,
  deletion: Query<object, { count: number }>,
  batchSize: number,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deletion, {});
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
