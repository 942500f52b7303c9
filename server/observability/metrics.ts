import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Database, Queryable } from '../database/database.ts';
import { inTimeOr } from '../database/in-time.ts';
import type { RowOf } from '../database/query.ts';
import { double, integer, sql } from '../database/sql.ts';

/** What a process counts while it works. All names are in docs/metrics.md. */
export interface Metrics {
  countRequest(request: CountedRequest): void;
  countJob(task: string, outcome: 'done' | 'failed', durationMs: number): void;
  countDelivery(channel: 'webhook' | 'chat' | 'mail', outcome: 'delivered' | 'failed', durationMs: number): void;
  /** Everything that was counted, in the text format of Prometheus. */
  write(database: Database): Promise<{ contentType: string; text: string }>;
}

interface CountedRequest {
  method: string;
  /** The pattern of the path, so that ids do not make a series each; `none` where none matched. */
  route: string;
  status: number;
  /** The error key of the answer; empty for one that is no error. */
  key: string;
  durationMs: number;
}

/** From a read that PostgreSQL had at hand to a statement that is about to be cut off, in seconds. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A job, or a delivery, waits for servers elsewhere: up to the ten seconds that a webhook has, in seconds. */
const jobBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function buildMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    registers,
    name: 'idea_board_http_requests_total',
    help: 'Requests answered, by method, route, status and error key.',
    labelNames: ['method', 'route', 'status', 'key'],
  });
  const requestDurations = new Histogram({
    registers,
    name: 'idea_board_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its answer, by method and route.',
    labelNames: ['method', 'route'],
    buckets: requestBuckets,
  });
  const jobs = new Counter({
    registers,
    name: 'idea_board_jobs_total',
    help: 'Jobs run by this process, by task and outcome: done, or failed and to be tried again or given up.',
    labelNames: ['task', 'outcome'],
  });
  const jobDurations = new Histogram({
    registers,
    name: 'idea_board_job_duration_seconds',
    help: 'How long jobs ran, by task.',
    labelNames: ['task'],
    buckets: jobBuckets,
  });
  const deliveries = new Counter({
    registers,
    name: 'idea_board_deliveries_total',
    help: 'Tries to tell someone by this process, by channel (webhook, chat, mail) and outcome (delivered, failed).',
    labelNames: ['channel', 'outcome'],
  });
  const deliveryDurations = new Histogram({
    registers,
    name: 'idea_board_delivery_duration_seconds',
    help: 'How long tries to tell someone took, by channel.',
    labelNames: ['channel'],
    buckets: jobBuckets,
  });
  const connections = new Gauge({
    registers,
    name: 'idea_board_database_connections',
    help: "Connections of this process's pool, by state: busy or idle.",
    labelNames: ['state'],
  });
  const waitingForConnection = new Gauge({
    registers,
    name: 'idea_board_database_waiting',
    help: 'What waits in this process for a connection of the pool: above 0 for long, the pool is too small.',
  });
  const waiting = {
    jobs: new Gauge({
      registers,
      name: 'idea_board_jobs_due',
      help: 'Jobs of the whole installation that are due and not begun; 10000 stands for as many or more.',
    }),
    oldestJobSeconds: new Gauge({
      registers,
      name: 'idea_board_jobs_oldest_due_seconds',
      help: 'For how long the oldest of them has been due; 0 when there is none.',
    }),
    deliveries: new Gauge({
      registers,
      name: 'idea_board_webhook_deliveries_pending',
      help: 'Webhook deliveries of the whole installation that are still to be made; 10000 stands for as many or more.',
    }),
  };
  const isDatabaseUp = new Gauge({
    registers,
    name: 'idea_board_database_up',
    help: '1 when PostgreSQL answered this scrape, else 0, and then what is counted there is left out.',
  });

  return {
    countRequest({ method, route, status, key, durationMs }) {
      requests.inc({ method, route, status, key });
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

/** Counting goes no further: when as much waits, more of it says nothing new, and the count costs. */
const mostCounted = 10_000;

/** Of all accounts, for the operator of the server. */
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

/** A later scrape would be late, and the figures of the process itself matter more than these. */
const timeoutMs = 1_000;

/** What waits in the database for some worker; undefined when PostgreSQL does not answer in time. */
async function countWaitingWork(database: Queryable): Promise<WaitingWork | undefined> {
  const [work] = await inTimeOr(database.query(selectWaitingWork, {}), timeoutMs, []);
  return work;
}
