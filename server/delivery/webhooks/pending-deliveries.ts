import { type ExpressionBuilder, sql } from 'kysely';
import { coalesceCallsByAccount } from '../../database/coalesce-calls.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { recordedEventOf } from '../../domain/events/recorded-event.ts';
import {
  columnsOf,
  dueTime,
  type Lane,
  type LaneColumns,
  type LaneRow,
  lanesOf,
} from '../../domain/webhooks/wake-lanes.ts';

/** A due delivery with its event and its endpoint. */
export type DueDelivery = RowOf<typeof selectDue>;

/**
 * How many deliveries of a lane (a delivery queue of an endpoint) are read at a time. The number is small, so that
 * changes of an endpoint take effect soon.
 */
const chunkSize = 16;

/** Lanes (delivery queues of endpoints) of one account, as arguments of a query. */
type LanesOfAccount = LaneColumns & { accountId: number };

/**
 * Builds the query for the due deliveries of a lane (delivery queue). The SQL aliases are `d` for the deliveries and
 * `l` for the lanes.
 */
function dueOfLane(from: ExpressionBuilder<Tables & { l: LaneRow }, 'l'>, $: Arguments<LanesOfAccount>) {
  return from
    .selectFrom('webhook_deliveries as d')
    .where('d.account_id', '=', $.accountId)
    .whereRef('d.endpoint_id', '=', 'l.endpoint_id')
    .whereRef('d.lane', '=', 'l.lane')
    .where('d.state', '=', 'pending')
    .where('d.next_attempt_at', '<', dueTime);
}

const selectDue = query('select_due_deliveries', (db, $: Arguments<LanesOfAccount>) =>
  db
    .selectFrom(lanesOf($))
    .crossJoinLateral(from =>
      dueOfLane(from, $)
        .select(['d.id', 'd.attempt_count', 'd.next_attempt_at', 'd.event_id'])
        .$narrowType<{ next_attempt_at: string }>()
        .orderBy('d.id')
        .limit(chunkSize)
        .as('d'),
    )
    .innerJoin('events as e', join => join.on('e.account_id', '=', $.accountId).onRef('e.id', '=', 'd.event_id'))
    .innerJoin('webhook_endpoints as w', join =>
      join.on('w.account_id', '=', $.accountId).onRef('w.id', '=', 'l.endpoint_id'),
    )
    .select(w => [
      'l.position',
      'd.id',
      'd.attempt_count',
      'd.next_attempt_at',
      'd.event_id',
      'w.url',
      'w.secret',
      w
        .case()
        .when('w.previous_secret_expires_at', '>', sql<string>`now()`)
        .then(w.ref('w.previous_secret'))
        .end()
        .as('previous_secret'),
      w('w.disabled_at', 'is not', null).as('is_disabled'),
      sql<number | null>`extract(epoch from now() - w.failing_since)::float8 * 1000`.as('failing_for_ms'),
    ])
    .select(recordedEventOf)
    .orderBy('l.position')
    .orderBy('d.id'),
);

/**
 * Tells for each given lane (delivery queue) whether it has a due delivery. Uses a limit instead of `exists`, because
 * with `exists`, PostgreSQL may read the due deliveries of all lanes of the account, and not only of the given ones.
 */
const selectAnyDue = query('select_any_due_delivery', (db, $: Arguments<LanesOfAccount>) =>
  db
    .selectFrom(lanesOf($))
    .select(l => dueOfLane(l, $).select('d.id').limit(1).as('delivery_id'))
    .orderBy('l.position'),
);

/** Searches all accounts, because a job from an older version of the server does not contain the id of its account. */
const selectAccount = query('select_account_of_endpoint', (db, $: Arguments<{ endpointId: number }>) =>
  db.selectFrom('webhook_endpoints as w').select('w.account_id').where('w.id', '=', $.endpointId),
);

export function readPendingDeliveries(queue: Queryable) {
  return {
    /**
     * Finds an endpoint's account, for a job from an older version of the server. Returns undefined if the endpoint was
     * deleted.
     */
    async accountOf(endpointId: number): Promise<number | undefined> {
      const [endpoint] = await queue.query(selectAccount, { endpointId });
      return endpoint?.account_id;
    },
    /** Reads the first due deliveries of a lane (delivery queue), in the order of sending. */
    load: coalesceCallsByAccount(async (accountId, lanes: Lane[]) => {
      const rows = await queue.query(selectDue, { accountId, ...columnsOf(lanes) });
      const byPosition = Map.groupBy(rows, row => row.position);
      return lanes.map((_, index) => byPosition.get(index + 1) ?? []);
    }),
    isDue: coalesceCallsByAccount(async (accountId, lanes: Lane[]) => {
      const rows = await queue.query(selectAnyDue, { accountId, ...columnsOf(lanes) });
      return rows.map(({ delivery_id }) => delivery_id !== null);
    }),
  };
}
