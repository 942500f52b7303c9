import type { Queryable } from '../../database/database.ts';
import { plannedStatement, statement } from '../../database/statement.ts';

/** Where deliveries of an endpoint wait for each other, so that the events of one idea arrive in their order. */
export interface Lane {
  endpointId: number;
  lane: number;
}

export const laneKey = ({ endpointId, lane }: Lane) => `webhook:${endpointId}:${lane}`;

/** Whether a delivery's time has come: it is kept to the millisecond, rounded, and so may lie half of one ahead. */
export const isDueNow = `next_attempt_at < now() + interval '1 millisecond'`;

const addJob = (runAt: string, options = '') => `
  graphile_worker.add_job(
    'deliver_webhooks', json_build_object('endpoint_id', endpoint_id, 'lane', lane), run_at => ${runAt}${options}
  )`;

/** One waking that is under a lane's key stands for all that were asked for. */
const underKey = (mode: 'replace' | 'preserve_run_at') =>
  `, job_key => format('webhook:%s:%s', endpoint_id, lane), job_key_mode => '${mode}'`;

const wakeLaneStatement = statement<never>(
  'wake_lane',
  `select ${addJob(`now() + $3 * interval '1 millisecond'`)}
  from (values ($1::bigint, $2::smallint)) as l(endpoint_id, lane)`,
);

/** Has a lane looked at after a delay, whatever else wakes it. */
export async function wakeLane(queue: Queryable, { endpointId, lane }: Lane, delayMs = 0): Promise<void> {
  await queue.query(wakeLaneStatement, [endpointId, lane, delayMs]);
}

const wakeLaneLaterStatement = statement<never>(
  'wake_lane_later',
  `select ${addJob(`now() + $3 * interval '1 millisecond'`, underKey('preserve_run_at'))}
  from (values ($1::bigint, $2::smallint)) as l(endpoint_id, lane)`,
);

/** The same, unless that is due earlier: however often it is asked for, a lane that waits is one job. */
export async function wakeLaneLater(queue: Queryable, { endpointId, lane }: Lane, delayMs: number): Promise<void> {
  await queue.query(wakeLaneLaterStatement, [endpointId, lane, delayMs]);
}

const wakeLanesStatement = statement<never>(
  'wake_lanes',
  `select ${addJob('now()')} from unnest($1::bigint[], $2::smallint[]) as l(endpoint_id, lane)`,
);

/** Has lanes looked at now. */
export async function wakeLanes(queue: Queryable, lanes: Lane[]): Promise<void> {
  if (lanes.length === 0) return;
  await queue.query(wakeLanesStatement, [lanes.map(({ endpointId }) => endpointId), lanes.map(({ lane }) => lane)]);
}

const wakeEndpointStatement = statement<never>(
  'wake_endpoint',
  `select ${addJob('now()', underKey('replace'))}
  from (
    select distinct endpoint_id, lane from webhook_deliveries
    where endpoint_id = $1 and state = 'pending' and ${isDueNow}
  ) l`,
);

/** Has every lane of an endpoint looked at in which something waits. */
export async function wakeEndpoint(queue: Queryable, endpointId: number): Promise<void> {
  await queue.query(wakeEndpointStatement, [endpointId]);
}

const wakeOverdueStatement = plannedStatement<never>(`
  select ${addJob('now()', underKey('preserve_run_at'))}
  from (
    select distinct endpoint_id, lane from webhook_deliveries
    where state = 'pending' and next_attempt_at < now() - $1 * interval '1 minute'
  ) l`);

/** Wakes lanes whose job was lost, such as one that failed too often to be tried again. */
export async function wakeOverdueLanes(queue: Queryable, overdueMinutes = 10): Promise<void> {
  await queue.query(wakeOverdueStatement, [overdueMinutes]);
}
