import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { batchCalls } from '../../jobs/batch-calls.ts';
import { isDueNow, type Lane } from './wake-lanes.ts';

/** A delivery that is due, with what sending it takes. */
export interface DueDelivery {
  id: number;
  attemptCount: number;
  /** When its time had come; another time says that it was asked for anew since. */
  dueAt: string;
  eventId: string;
  /** To the letter as it was recorded. */
  body: string;
  endpoint: DueEndpoint;
}

export interface DueEndpoint {
  id: number;
  url: string;
  secret: Buffer;
  /** The secret before, while it is still valid. */
  previousSecret: Buffer | null;
  isDisabled: boolean;
  /** Since when nothing but failure came of it; null while it is well. */
  failingForMs: number | null;
}

interface DueRow {
  position: number;
  id: number;
  attempt_count: number;
  next_attempt_at: string;
  event_id: string;
  body: string;
  url: string;
  secret: Buffer;
  previous_secret: Buffer | null;
  is_disabled: boolean;
  failing_for_ms: number | null;
}

/** How many of a lane are read at once: few enough that what changes at the endpoint is soon seen. */
const chunkSize = 16;

const dueOfLane = `d.endpoint_id = l.endpoint_id and d.lane = l.lane and d.state = 'pending'
  and d.${isDueNow}`;

const selectDue = statement<DueRow>(
  'select_due_deliveries',
  `select l.position::int, d.id, d.attempt_count, d.next_attempt_at, d.event_id, e.body::text as body, w.url, w.secret,
    case when w.previous_secret_expires_at > now() then w.previous_secret end as previous_secret,
    w.disabled_at is not null as is_disabled,
    extract(epoch from now() - w.failing_since)::float8 * 1000 as failing_for_ms
  from unnest($1::bigint[], $2::smallint[]) with ordinality as l(endpoint_id, lane, position)
    cross join lateral (
      select d.id, d.attempt_count, d.next_attempt_at, d.event_id from webhook_deliveries d
      where ${dueOfLane}
      order by d.id
      limit ${chunkSize}
    ) d
    join events e on e.id = d.event_id
    join webhook_endpoints w on w.id = l.endpoint_id
  order by l.position, d.id`,
);

const selectAccount = statement<{ account_id: number | null }>(
  'select_account_of_due_lane',
  `select (select d.account_id from webhook_deliveries d where ${dueOfLane} limit 1) as account_id
  from unnest($1::bigint[], $2::smallint[]) with ordinality as l(endpoint_id, lane, position)
  order by l.position`,
);

export interface PendingDeliveries {
  /** The first deliveries of a lane that are due, in their order. */
  load(lane: Lane): Promise<DueDelivery[]>;
  /** The account of a lane with a due delivery; undefined when there is none. */
  accountIfDue(lane: Lane): Promise<number | undefined>;
}

export function readPendingDeliveries(queue: Queryable): PendingDeliveries {
  return {
    load: batchCalls(async (lanes: Lane[]) => {
      const rows = await queue.query(selectDue, columnsOf(lanes));
      const byPosition = Map.groupBy(rows, row => row.position);
      return lanes.map(({ endpointId }, index) => (byPosition.get(index + 1) ?? []).map(row => toDue(row, endpointId)));
    }),
    accountIfDue: batchCalls(async (lanes: Lane[]) => {
      const rows = await queue.query(selectAccount, columnsOf(lanes));
      return rows.map(row => row.account_id ?? undefined);
    }),
  };
}

function columnsOf(lanes: Lane[]) {
  return [lanes.map(({ endpointId }) => endpointId), lanes.map(({ lane }) => lane)];
}

function toDue(row: DueRow, endpointId: number): DueDelivery {
  return {
    id: row.id,
    attemptCount: row.attempt_count,
    dueAt: row.next_attempt_at,
    eventId: row.event_id,
    body: row.body,
    endpoint: {
      id: endpointId,
      url: row.url,
      secret: row.secret,
      previousSecret: row.previous_secret,
      isDisabled: row.is_disabled,
      failingForMs: row.failing_for_ms,
    },
  };
}
