import { type ExpressionBuilder, sql } from 'kysely';
import { coalesceCalls, coalesceCallsByAccount } from '../../database/coalesce-calls.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { type RecordedEvent, recordedEventOf } from '../../domain/events/recorded-event.ts';
import {
  columnsOf,
  dueTime,
  type Lane,
  type LaneColumns,
  type LaneRow,
  lanesOf,
} from '../../domain/webhooks/wake-lanes.ts';

/** A delivery that is due, with what sending it takes. */
export interface DueDelivery {
  id: number;
  accountId: number;
  attemptCount: number;
  /** When it was due. Another time in the table means that somebody redelivered it since. */
  dueAt: string;
  eventId: string;
  event: RecordedEvent;
  endpoint: DueEndpoint;
}

export interface DueEndpoint {
  id: number;
  url: string;
  secret: Buffer;
  /** The secret before, while it is still valid. */
  previousSecret: Buffer | null;
  isDisabled: boolean;
  /** Since its first failure in a row; null after a success. */
  failingForMs: number | null;
}

/** How many deliveries of a lane are read at once. Few, so that a change of the endpoint takes effect soon. */
const chunkSize = 16;

/** Lanes of one account. */
type LanesOfAccount = LaneColumns & { accountId: number };

/** The due deliveries d of a lane l. */
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
      'l.account_id',
      'l.endpoint_id',
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

/** Uses a limit: for `exists`, PostgreSQL may read the due deliveries of all lanes. */
const selectAnyDue = query('select_any_due_delivery', (db, $: Arguments<LanesOfAccount>) =>
  db
    .selectFrom(lanesOf($))
    .select(l => dueOfLane(l, $).select('d.id').limit(1).as('delivery_id'))
    .orderBy('l.position'),
);

/** Runs for a job that names no account, so it has no filter on the account. */
const selectAccounts = query('select_accounts_of_endpoints', (db, $: Arguments<{ endpointIds: readonly number[] }>) =>
  db
    .selectFrom('webhook_endpoints as w')
    .select(['w.id', 'w.account_id'])
    .where(w => w('w.id', '=', w.fn.any($.endpointIds))),
);

const maxRememberedAccounts = 10_000;

export interface PendingDeliveries {
  /** The first deliveries of a lane that are due, in their order. */
  load(lane: Lane): Promise<DueDelivery[]>;
  /** Whether a lane has a due delivery. */
  isDue(lane: Lane): Promise<boolean>;
  /** The account of an endpoint; undefined when the endpoint is gone. */
  accountOf(endpointId: number): Promise<number | undefined>;
}

export function readPendingDeliveries(queue: Queryable): PendingDeliveries {
  /** An endpoint never changes its account. */
  const accounts = new Map<number, number>();
  const readAccount = coalesceCalls(async (endpointIds: number[]) => {
    const rows = await queue.query(selectAccounts, { endpointIds });
    if (accounts.size >= maxRememberedAccounts) accounts.clear();
    for (const { id, account_id } of rows) accounts.set(id, account_id);
    return endpointIds.map(id => accounts.get(id));
  });
  return {
    accountOf: async endpointId => accounts.get(endpointId) ?? readAccount(endpointId),
    load: coalesceCallsByAccount(async (accountId, lanes: Lane[]) => {
      const rows = await queue.query(selectDue, { accountId, ...columnsOf(lanes) });
      const byPosition = Map.groupBy(rows, row => row.position);
      return lanes.map((_, index) => (byPosition.get(index + 1) ?? []).map(toDue));
    }),
    isDue: coalesceCallsByAccount(async (accountId, lanes: Lane[]) => {
      const rows = await queue.query(selectAnyDue, { accountId, ...columnsOf(lanes) });
      return rows.map(({ delivery_id }) => delivery_id !== null);
    }),
  };
}

function toDue(row: RowOf<typeof selectDue>): DueDelivery {
  return {
    id: row.id,
    accountId: row.account_id,
    attemptCount: row.attempt_count,
    dueAt: row.next_attempt_at,
    eventId: row.event_id,
    event: row,
    endpoint: {
      id: row.endpoint_id,
      url: row.url,
      secret: row.secret,
      previousSecret: row.previous_secret,
      isDisabled: Boolean(row.is_disabled),
      failingForMs: row.failing_for_ms,
    },
  };
}
