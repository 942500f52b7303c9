import { plannedStatement } from '../../database/statement.ts';
import type { DeliveryState } from '../../entities/webhook-delivery.ts';
import type { Administration } from '../administration.ts';
import { cutRows } from '../pagination.ts';
import { requireWebhook } from './find-webhook.ts';

/** A delivery without what was sent and answered. */
export interface DeliverySummary {
  id: number;
  type: string;
  state: DeliveryState;
  created_at: string;
  next_attempt_at: string | null;
  last_attempt: LastAttempt | null;
}

interface LastAttempt {
  attempted_at: string;
  duration_ms: number;
  status: number | null;
  error: string | null;
}

export interface DeliveryPage {
  rows: DeliverySummary[];
  /** Before which delivery the list goes on; undefined at its end. */
  next: number | undefined;
}

export interface DeliveryPlace {
  /** Undefined: all of them. */
  state: DeliveryState | undefined;
  before: number | undefined;
  limit: number;
  /** How far the log is read for one page of those that were delivered, of which there may be few. */
  mostLookedAt?: number;
}

const defaultMostLookedAt = 10_000;

/** The deliveries whose ids a query finds, newest first. */
const summaries = (ids: string) =>
  plannedStatement<DeliverySummary>(`
  select d.id, e.type, d.state, d.created_at, d.next_attempt_at,
    (
      select json_build_object(
        'attempted_at', a.attempted_at, 'duration_ms', a.duration_ms, 'status', a.status, 'error', a.error
      )
      from webhook_attempts a where a.delivery_id = d.id
      order by a.id desc
      limit 1
    ) as last_attempt
  from (${ids}) found join webhook_deliveries d on d.id = found.id join events e on e.id = d.event_id
  order by d.id desc`);

const ofEndpoint = `d.endpoint_id = $1 and ($2::bigint is null or d.id < $2)`;

const selectAll = summaries(`select d.id from webhook_deliveries d where ${ofEndpoint} order by d.id desc limit $3`);

/** What waits is indexed by the lanes, of which there are eight. */
const selectPending = summaries(`
  select pending.id
  from generate_series(0, 7) as lanes (number) cross join lateral (
    select d.id from webhook_deliveries d
    where ${ofEndpoint} and d.lane = lanes.number::smallint and d.state = 'pending'
    order by d.id desc
    limit $3
  ) pending
  order by pending.id desc
  limit $3`);

/** What was given up has an index, in whose order it is asked for: by the ids alone, the log of all endpoints is read. */
const selectDead = summaries(`
  select d.id from webhook_deliveries d
  where d.endpoint_id between $1 and $1 and ($2::bigint is null or d.id < $2) and d.state = 'dead'
  order by d.endpoint_id, d.id desc
  limit $3`);

/** What was delivered is most of what there is: the log is read from its newest until a page is full, or $4 are read. */
const selectDelivered = summaries(`
  select walked.id
  from (
    select d.id, d.state from webhook_deliveries d
    where d.endpoint_id between $1 and $1 and ($2::bigint is null or d.id < $2)
    order by d.endpoint_id, d.id desc
    limit $4
  ) walked
  where walked.state = 'delivered'
  limit $3`);

/** The last delivery that was looked at, where others are before it. */
const selectEnd = plannedStatement<{ id: number }>(`
  select d.id from webhook_deliveries d
  where ${ofEndpoint}
  order by d.id desc
  offset $3
  limit 2`);

/** The newest deliveries of an endpoint, or those before one; of those delivered, perhaps none, and yet a next page. */
export async function listDeliveryPage(
  admin: Administration,
  accountId: number,
  endpointId: number,
  { state, before, limit, mostLookedAt = defaultMostLookedAt }: DeliveryPlace,
): Promise<DeliveryPage> {
  await requireWebhook(admin, accountId, endpointId);
  const place = [endpointId, before ?? null];
  const values = [...place, limit + 1];
  if (state !== 'delivered') {
    const { rows, hasMore } = cutRows(await admin.query(statementOf(state), values), limit);
    return { rows, next: hasMore ? rows.at(-1)?.id : undefined };
  }
  const { rows, hasMore } = cutRows(await admin.query(selectDelivered, [...values, mostLookedAt]), limit);
  if (hasMore) return { rows, next: rows.at(-1)?.id };
  const [end, another] = await admin.query(selectEnd, [...place, mostLookedAt - 1]);
  return { rows, next: another && end?.id };
}

function statementOf(state: 'pending' | 'dead' | undefined) {
  if (state === undefined) return selectAll;
  return state === 'pending' ? selectPending : selectDead;
}
