import { type Expression, type Kysely, sql } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { type Query, query } from '../database/query.ts';
import { primaryKeyOf, type Tables } from '../database/tables.ts';
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

/** A statement that deletes or changes a batch of rows, and counts them. */
interface Clearing {
  statement: Query<object, { count: number }>;
  batchSize: number;
}

/** Defines a deletion in batches. `select` selects the primary keys of one batch. */
function deletion(
  name: string,
  table: keyof Tables,
  batchSize: number,
  select: (db: Kysely<Tables>) => Expression<object>,
): Clearing {
  const keyOf = (alias: string) => sql.join(primaryKeyOf(table).map(column => sql.ref(`${alias}.${column}`)));
  const statement = query(
    name,
    db =>
      db
        .with(
          cte => cte('old').materialized(),
          () => select(db),
        )
        .with('deleted', cte =>
          cte
            .deleteFrom<keyof Tables>(table)
            .using('old')
            .where(sql<boolean>`(${keyOf(table)}) = (${keyOf('old')})`)
            .returning(sql`1`.as('one')),
        )
        .selectFrom('deleted')
        .select(deleted => deleted.fn.countAll<number>().as('count')),
    { isPrepared: false },
  );
  return { statement, batchSize };
}

const expiredBatchSize = 5_000;

/** Deletes the expired rows of all accounts. Skips locked rows, so that the statement does not wait for requests. */
const expired = expiringTables.map(table =>
  deletion(`delete_expired_${table}`, table, expiredBatchSize, db =>
    db
      .selectFrom(table)
      .select(primaryKeyOf(table).map(column => sql.ref(column).as(column)))
      .where('expires_at', '<', sql<string>`now()`)
      .limit(expiredBatchSize)
      .forUpdate()
      .skipLocked(),
  ),
);

const isOld = (column: string) => sql<boolean>`${sql.ref(column)} < now() - ${keptEventHours} * interval '1 hour'`;

/** The batch size for events. It is small, because each event is deleted with its deliveries and notifications. */
const eventBatchSize = 1_000;

/** Deletes old events in all accounts. An event with a pending delivery stays until the delivery ends. */
const oldEvents = deletion('delete_old_events', 'events', eventBatchSize, db =>
  db
    .selectFrom('events as e')
    .select(['e.account_id', 'e.id'])
    .where(isOld('e.occurred_at'))
    .where(e => {
      const deliveries = e.selectFrom('webhook_deliveries as d').whereRef('d.account_id', '=', 'e.account_id');
      return e.not(e.exists(deliveries.whereRef('d.event_id', '=', 'e.id').where('d.state', '=', 'pending')));
    })
    .orderBy('e.occurred_at')
    .limit(eventBatchSize),
);

/**
 * The batch size for deleted ideas. It is small, because the rows of each idea's comments, notes and votes are
 * removed together with the idea.
 */
const ideaBatchSize = 10;

/** Removes the rows of deleted ideas whose events have all expired. */
const deletedIdeas = deletion('delete_deleted_ideas', 'ideas', ideaBatchSize, db =>
  db
    .selectFrom('ideas as i')
    .select(['i.account_id', 'i.id'])
    .where('i.moderation_state', '=', 'deleted')
    .where(isOld('i.updated_at'))
    .where(i => {
      const events = i.selectFrom('events as e').whereRef('e.account_id', '=', 'i.account_id');
      return i.not(i.exists(events.whereRef('e.idea_id', '=', 'i.id')));
    })
    .orderBy('i.updated_at')
    .limit(ideaBatchSize),
);

/** The server shows and keeps the network of a token's last use for this number of days. */
const keptNetworkDays = 30;

/** Removes the network of the last use from tokens that nobody has used for keptNetworkDays. */
const oldNetworks: Clearing = {
  statement: query(
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
  ),
  batchSize: expiredBatchSize,
};

export function clearExpired(queue: Queryable, stopping: AbortSignal): Promise<void> {
  return clear(queue, expired, stopping);
}

/**
 * Deletes old events with their deliveries and notifications, and then the rows of deleted ideas with their comments,
 * notes and votes. Also clears the old networks of tokens.
 */
export function clearOld(queue: Queryable, stopping: AbortSignal): Promise<void> {
  return clear(queue, [oldEvents, deletedIdeas, oldNetworks], stopping);
}

/**
 * Runs each clearing until no row is left or the worker stops. Each batch holds its locks only for a short time.
 */
async function clear(queue: Queryable, clearings: readonly Clearing[], stopping: AbortSignal): Promise<void> {
  for (const { statement, batchSize } of clearings) {
    let isOver = false;
    while (!isOver && !stopping.aborted) {
      const [cleared] = await queue.query(statement, {});
      isOver = (cleared?.count ?? 0) < batchSize;
    }
  }
}
