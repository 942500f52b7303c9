import { type Expression, type Kysely, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';

export interface AccountEndpoint {
  accountId: number;
  endpointId: number;
}

/**
 * A lane: one of an endpoint's eight delivery queues. The server sends the deliveries of a lane one after the other.
 * All deliveries for an idea are in the same lane.
 */
export interface Lane extends AccountEndpoint {
  lane: number;
}

export const laneKey = ({ endpointId, lane }: Lane) => `webhook:${endpointId}:${lane}`;

/**
 * A delivery is due if its next_attempt_at is before this time. PostgreSQL rounds next_attempt_at to the millisecond,
 * so the stored time may be half a millisecond late.
 */
export const dueTime = sql<string>`now() + interval '1 millisecond'`;

/** Many lanes (delivery queues of endpoints) as three arrays, so that one SQL statement can handle them. */
export interface LaneColumns {
  accountIds: readonly number[];
  endpointIds: readonly number[];
  lanes: readonly number[];
}

export function columnsOf(lanes: readonly Lane[]): LaneColumns {
  return {
    accountIds: lanes.map(({ accountId }) => accountId),
    endpointIds: lanes.map(({ endpointId }) => endpointId),
    lanes: lanes.map(({ lane }) => lane),
  };
}

export interface LaneRow {
  account_id: number;
  endpoint_id: number;
  lane: number;
  /** The position of the lane (a delivery queue) in the arrays of LaneColumns, starting at 1. */
  position: number;
}

export function lanesOf({ accountIds, endpointIds, lanes }: Arguments<LaneColumns>) {
  return sql<LaneRow>`unnest(${accountIds}::bigint[], ${endpointIds}::bigint[], ${lanes}::smallint[]) with ordinality`.as<'l'>(
    sql`l(account_id, endpoint_id, lane, position)`,
  );
}

/**
 * Adds a job that sends the deliveries of a lane (a delivery queue of an endpoint). If `keyMode` is given, the job gets
 * the key of the lane. At most one job with this key exists.
 */
function addLaneJob(delayMs: Expression<number>, keyMode?: 'replace' | 'preserve_run_at') {
  const key = sql`, job_key => format('webhook:%s:%s', l.endpoint_id, l.lane), job_key_mode => ${keyMode}`;
  return sql`graphile_worker.add_job(
    'deliver_webhooks',
    json_build_object('account_id', l.account_id, 'endpoint_id', l.endpoint_id, 'lane', l.lane),
    run_at => now() + ${delayMs} * interval '1 millisecond'${keyMode ? key : sql``}
  )`.as('job');
}

const addLaneJobs = query('add_lane_jobs', (db, $: Arguments<LaneColumns & { delayMs: number }>) =>
  db.selectFrom(lanesOf($)).select(addLaneJob($.delayMs)),
);

/**
 * For each lane (delivery queue), adds a job that sends the lane's deliveries. This job does not replace other jobs of
 * the same lane.
 */
export async function wakeLanes(queue: Queryable, lanes: readonly Lane[], delayMs = 0): Promise<void> {
  if (lanes.length > 0) await queue.query(addLaneJobs, { ...columnsOf(lanes), delayMs });
}

const addKeyedLaneJobs = query('add_keyed_lane_jobs', (db, $: Arguments<LaneColumns & { delayMs: number }>) =>
  db.selectFrom(lanesOf($)).select(addLaneJob($.delayMs, 'preserve_run_at')),
);

/**
 * Plans a job for a lane (a delivery queue of an endpoint). If the lane already has a planned job, that job keeps its
 * time.
 */
export async function wakeLaneLater(queue: Queryable, lane: Lane, delayMs: number): Promise<void> {
  await queue.query(addKeyedLaneJobs, { ...columnsOf([lane]), delayMs });
}

const noDelay = sql.lit(0);

/**
 * Selects the lanes (delivery queues) with a pending delivery that was due before the given time. The SQL alias of the
 * delivery is `d`.
 */
function lanesDueBefore(db: Kysely<Tables>, time: Expression<string>) {
  return db
    .selectFrom('webhook_deliveries as d')
    .select(['d.account_id', 'd.endpoint_id', 'd.lane'])
    .distinct()
    .where('d.state', '=', 'pending')
    .where('d.next_attempt_at', '<', time);
}

const addJobsOfEndpoint = query('add_lane_jobs_of_endpoint', (db, $: Arguments<AccountEndpoint>) =>
  db
    .selectFrom(
      lanesDueBefore(db, dueTime)
        .where(d => d.and({ 'd.account_id': $.accountId, 'd.endpoint_id': $.endpointId }))
        .as('l'),
    )
    .select(addLaneJob(noDelay, 'replace')),
);

export async function wakeEndpoint(queue: Queryable, { accountId, endpointId }: AccountEndpoint): Promise<void> {
  await queue.query(addJobsOfEndpoint, { accountId, endpointId });
}

/** The number of lanes (delivery queues) that get their jobs in one statement. */
const overdueBatchSize = 1_000;

/**
 * Selects lanes (delivery queues) in the order of the index of pending deliveries. Searches all accounts, because a
 * scheduled job runs this statement for all accounts.
 */
const selectOverdueLanes = query(
  'select_overdue_lanes',
  (db, $: Arguments<Lane & { overdueMinutes: number }>) =>
    lanesDueBefore(db, sql`now() - ${$.overdueMinutes} * interval '1 minute'`)
      .where(
        sql<boolean>`(d.account_id, d.endpoint_id, d.lane) >
          (${$.accountId}::bigint, ${$.endpointId}::bigint, ${$.lane}::smallint)`,
      )
      .orderBy('d.account_id')
      .orderBy('d.endpoint_id')
      .orderBy('d.lane')
      .limit(overdueBatchSize),
  { isPrepared: false },
);

/**
 * Adds jobs for lanes (delivery queues) with overdue deliveries. The earlier job of such a lane may be lost, for
 * example after its last retry.
 */
export async function wakeOverdueLanes(queue: Queryable, overdueMinutes = 10): Promise<void> {
  let last: Lane | undefined = { accountId: 0, endpointId: 0, lane: 0 };
  while (last) {
    const rows: RowOf<typeof selectOverdueLanes>[] = await queue.query(selectOverdueLanes, { ...last, overdueMinutes });
    const lanes = rows.map(row => ({ accountId: row.account_id, endpointId: row.endpoint_id, lane: row.lane }));
    if (lanes.length > 0) await queue.query(addKeyedLaneJobs, { ...columnsOf(lanes), delayMs: 0 });
    last = lanes.length === overdueBatchSize ? lanes.at(-1) : undefined;
  }
}
