import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database, Queryable } from '../database/database.ts';
import { inTimeOr } from '../database/in-time.ts';
import type { RowOf } from '../database/query.ts';
import { double, integer, sql } from '../database/sql.ts';
import { sdkProductOf } from './sdk-product.ts';

/** The metrics of one server process. docs/metrics.md lists their names. */
export interface Metrics {
  countRequest(request: CountedRequest): void;
  countJob(task: string, outcome: 'done' | 'failed', durationMs: number): void;
  countDelivery(channel: 'webhook' | 'chat' | 'mail', outcome: 'delivered' | 'failed', durationMs: number): void;
  /** Returns all metrics in the text format of Prometheus. */
  write(database: Database): Promise<{ contentType: string; text: string }>;
}

interface CountedRequest {
  method: string;
  /**
   * The pattern of the path, such as `/ideas/:id`, so that requests with different ids share a time series. An unknown
   * path has the value `none`.
   */
  route: string;
  status: number;
  /** The error key of the answer. Empty if the answer is not an error. */
  key: string;
  durationMs: number;
  userAgent?: string | undefined;
}

/**
 * The maximum number of SDK versions that the metrics count separately. A client can send invented versions, and each
 * one takes memory.
 */
const mostSdkVersions = 50;

/** Histogram buckets for requests, in seconds: from a cached read to a statement that almost times out. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The histogram buckets for the duration of a job or a delivery, in seconds. A webhook may take up to ten seconds. */
const jobBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function buildMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });

  const named = <Label extends string>(name: string, help: string, labelNames: Label[]) => ({
    registers: [registry],
    name: `idea_board_${name}`,
    help,
    labelNames,
  });
  const counter = <Label extends string>(name: string, help: string, labels: Label[]) =>
    new Counter(named(name, help, labels));
  const histogram = <Label extends string>(name: string, help: string, labels: Label[], buckets: number[]) =>
    new Histogram({ ...named(name, help, labels), buckets });
  const gauge = <Label extends string>(name: string, help: string, labels: Label[] = []) =>
    new Gauge(named(name, help, labels));

  const requests = counter('http_requests_total', 'Answered requests, by method, route, status and error key.', [
    'method',
    'route',
    'status',
    'key',
  ]);
  const clientRequests = counter(
    'client_requests_total',
    'Answered requests of the API, by client: the name and version of the SDK, or other.',
    ['client'],
  );
  const sdkVersions = new Set<string>();
  const requestDurations = histogram(
    'http_request_duration_seconds',
    'Time from the end of the headers of a request to the last byte of its answer, by method and route.',
    ['method', 'route'],
    requestBuckets,
  );
  const jobs = counter('jobs_total', 'Jobs that this process ran, by task and outcome (done, failed).', [
    'task',
    'outcome',
  ]);
  const jobDurations = histogram('job_duration_seconds', 'Run time of jobs, by task.', ['task'], jobBuckets);
  const deliveries = counter(
    'deliveries_total',
    'Delivery attempts by this process, by channel (webhook, chat, mail) and outcome (delivered, failed).',
    ['channel', 'outcome'],
  );
  const deliveryDurations = histogram(
    'delivery_duration_seconds',
    'Duration of delivery attempts, by channel.',
    ['channel'],
    jobBuckets,
  );
  const connections = gauge('database_connections', "Connections of this process's pool, by state (busy, idle).", [
    'state',
  ]);
  const waitingForConnection = gauge(
    'database_waiting',
    'Statements in this process that wait for a connection. If it stays above 0, the pool is too small.',
  );
  const waiting = {
    jobs: gauge('jobs_due', 'Due jobs of the whole installation that no worker has started, at most 10000.'),
    oldestJobSeconds: gauge('jobs_oldest_due_seconds', 'How long the oldest of these jobs has been due, or 0.'),
    deliveries: gauge(
      'webhook_deliveries_pending',
      'Pending webhook deliveries of the whole installation, at most 10000.',
    ),
  };
  const replica = {
    isAway: gauge('database_replica_away', '1 if DATABASE_READ_URL is set, but reads do not use the replica.'),
    lagSeconds: gauge(
      'database_replica_lag_seconds',
      "The maximum age of the replica's data. 0 if reads do not use a replica.",
    ),
  };
  const isDatabaseUp = gauge(
    'database_up',
    '1 if PostgreSQL answered this scrape. Otherwise 0, and its other metrics are missing.',
  );

  function clientOf(userAgent: string): string {
    const product = sdkProductOf(userAgent);
    if (product && sdkVersions.size < mostSdkVersions) sdkVersions.add(product);
    return product && sdkVersions.has(product) ? product : 'other';
  }

  return {
    countRequest({ method, route, status, key, durationMs, userAgent = '' }) {
      requests.inc({ method, route, status, key });
      if (route.startsWith('/api/')) clientRequests.inc({ client: clientOf(userAgent) });
      requestDurations.observe({ method, route }, durationMs / 1000);
    },
    countJob(task, outcome, durationMs) {
      jobs.inc({ task, outcome });
      jobDurations.observe({ task }, durationMs / 1000);
    },
    countDelivery(channel, outcome, durationMs) {
      deliveries.inc({ channel, outcome });
      deliveryDurations.observe({ channel }, durationMs / 1000);
    },
    async write(database) {
      const { pool } = database;
      connections.set({ state: 'idle' }, pool.idleCount);
      connections.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      waitingForConnection.set(pool.waitingCount);
      const ofReplica = database.replica?.state();
      replica.isAway.set(ofReplica?.isUsed === false ? 1 : 0);
      replica.lagSeconds.set(ofReplica?.isUsed ? ofReplica.lagMs / 1000 : 0);
      const work = await countWaitingWork(database);
      isDatabaseUp.set(work ? 1 : 0);
      for (const gauge of Object.values(waiting)) gauge.remove();
      if (work) {
        waiting.jobs.set(work.dueJobs);
        waiting.oldestJobSeconds.set(work.oldestDueSeconds);
        waiting.deliveries.set(work.pendingDeliveries);
      }
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

type WaitingWork = RowOf<typeof selectWaitingWork>;

/**
 * Counts of waiting jobs and deliveries stop at this number, because an exact higher count takes longer and is not more
 * useful.
 */
const mostCounted = 10_000;

/** Counts the waiting jobs and deliveries of all accounts, for the server's operator. */
const selectWaitingWork = sql(
  'select_waiting_work',
  { arguments: {}, row: { dueJobs: integer(), oldestDueSeconds: double(), pendingDeliveries: integer() } },
  `select
    (select count(*)::int from (
      select from graphile_worker._private_jobs where is_available and run_at <= now() limit ${mostCounted}
    ) due) as "dueJobs",
    coalesce((
      select greatest(0, extract(epoch from now() - run_at))::float
      from graphile_worker._private_jobs where is_available and run_at <= now() order by run_at limit 1
    ), 0) as "oldestDueSeconds",
    (select count(*)::int from (
      select from webhook_deliveries where state = 'pending' limit ${mostCounted}
    ) pending) as "pendingDeliveries"`,
);

/**
 * The time limit, in milliseconds, for counting jobs and deliveries in the database. The metrics of the process are
 * more important than these counts, and a slow database must not delay them much.
 */
const timeoutMs = 1_000;

/** Counts the waiting jobs and deliveries in the database. Returns undefined if PostgreSQL does not answer in time. */
async function countWaitingWork(database: Queryable): Promise<WaitingWork | undefined> {
  const [work] = await inTimeOr(database.query(selectWaitingWork, {}), timeoutMs, []);
  return work;
}
