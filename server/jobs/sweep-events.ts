import { type ExpressionBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import type { Database, Queryable } from '../database/database.ts';
import { type Arguments, query, type RowOf } from '../database/query.ts';
import type { Tables } from '../database/tables.ts';
import { eventIdentifier } from '../extensions/subscriptions.ts';

/** The number of events in a batch. Each batch is one transaction for each of its accounts. */
const batchSize = 1_000;
/** The sweep skips younger events, because they may still be in a transaction, or their jobs may be running. */
const minAgeMinutes = 10;
/** The sweep adds no jobs for older events, because people no longer need to hear of them. */
const maxAgeHours = 24;

type Unfinished = RowOf<typeof selectUnfinished>;

/** Whether the job tell_people of an event has not run. Votes have no such job. */
function isUntold(e: ExpressionBuilder<Tables & { e: Tables['events'] }, 'e'>) {
  return e.and([e('e.told_at', 'is', null), e('e.type', '<>', 'idea.voted')]);
}

/**
 * Selects the events of one hour that need a job: the job tell_people has not run, or an extension has not received the
 * event. The query searches all accounts, because a scheduled job runs it for all accounts.
 */
const selectUnfinished = query(
  'select_unfinished_events',
  (db, $: Arguments<{ hoursAgo: number; after: string }>) =>
    db
      .selectFrom('events as e')
      .select(['e.account_id', 'e.id', e => e.ref('e.idea_id').$notNull().as('idea_id'), 'e.waiting_extensions'])
      .select(e => isUntold(e).as('is_untold'))
      .where('e.occurred_at', '>=', timeBefore(sql`${$.hoursAgo} + 1`))
      .where('e.occurred_at', '<', timeBefore($.hoursAgo))
      .where(e => e.or([isUntold(e), e('e.waiting_extensions', '<>', sql<never>`'{}'`)]))
      .where('e.idea_id', 'is not', null)
      .where('e.id', '>', $.after)
      .orderBy('e.id')
      .limit(batchSize),
  { isPrepared: false },
);

function timeBefore(hours: ReturnType<typeof sql>) {
  return sql<string>`now() - interval '${sql.lit(minAgeMinutes)} minutes' - (${hours})::int * interval '1 hour'`;
}

/** The jobs that an event needs, as record_event() adds them. */
function jobsOf({ id, idea_id, is_untold, waiting_extensions }: Omit<Unfinished, 'account_id'>): EventJob[] {
  const lane = idea_id % 8;
  const extensionJobs = waiting_extensions.map(name => ({
    id,
    task: eventIdentifier(name),
    queue: `extension:${name}:${lane}`,
  }));
  return is_untold ? [{ id, task: 'tell_people', queue: `people:${lane}` }, ...extensionJobs] : extensionJobs;
}

interface EventJob {
  /** The id of the event. */
  id: string;
  task: string;
  queue: string;
}

interface JobColumns {
  ids: readonly string[];
  tasks: readonly string[];
  queues: readonly string[];
}

function columnsOf(jobs: readonly EventJob[]): JobColumns {
  return { ids: jobs.map(({ id }) => id), tasks: jobs.map(({ task }) => task), queues: jobs.map(({ queue }) => queue) };
}

function jobsIn({ ids, tasks, queues }: Arguments<JobColumns>) {
  return sql<EventJob>`unnest(${ids}::uuid[], ${tasks}::text[], ${queues}::text[])`.as<'e'>(sql`e(id, task, queue)`);
}

/** Of the given jobs, selects those that are not in the queue. */
const selectMissing = query('select_missing_event_jobs', (db, $: Arguments<JobColumns>) =>
  db
    .selectFrom(jobsIn($))
    .select(['e.id', 'e.task'])
    .where(
      sql<boolean>`not exists (
        select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
        where t.identifier = e.task and j.payload ->> 'event_id' = e.id::text
      )`,
    ),
);

const lockUnfinished = query(
  'lock_unfinished_events',
  (db, $: Arguments<{ accountId: number; ids: readonly string[] }>) =>
    db
      .selectFrom('events as e')
      .select(['e.id', e => e.ref('e.idea_id').$notNull().as('idea_id'), 'e.waiting_extensions'])
      .select(e => isUntold(e).as('is_untold'))
      .where('e.account_id', '=', $.accountId)
      .where(e => e('e.id', '=', e.fn.any($.ids)))
      .orderBy('e.occurred_at')
      .forNoKeyUpdate('e'),
);

/** Adds the same jobs as record_event(), but with keys. So several runs of the sweep add each job only once. */
const addJobs = query('add_lost_event_jobs', (db, $: Arguments<JobColumns & { accountId: number }>) =>
  db.selectFrom(jobsIn($)).select(
    sql`graphile_worker.add_job(e.task, json_build_object('account_id', ${$.accountId}::bigint, 'event_id', e.id),
      queue_name => e.queue, job_key => format('%s:%s', e.task, e.id), job_key_mode => 'preserve_run_at')`.as('job'),
  ),
);

interface SweepDependencies {
  database: Database;
  queue: Queryable;
  logger: Logger;
  stopping: AbortSignal;
}

/**
 * Finds events of the last day whose jobs are lost, and adds the jobs again. Jobs are lost if an operator deletes them,
 * or with Citus, if a crash occurs between the commits of the worker node and the coordinator.
 */
export async function sweepEvents({ database, queue, logger, stopping }: SweepDependencies): Promise<void> {
  for (let hoursAgo = 0; hoursAgo < maxAgeHours; hoursAgo++) {
    let after = '00000000-0000-0000-0000-000000000000';
    for (;;) {
      if (stopping.aborted) return;
      const events = await queue.query(selectUnfinished, { hoursAgo, after });
      const count = await addLostJobs(database, events);
      if (count > 0) logger.warn({ count }, 'added lost jobs of events again');
      const last = events.at(-1);
      if (!last || events.length < batchSize) break;
      after = last.id;
    }
  }
}

/**
 * Adds the missing jobs of events. First looks for jobs, and then locks the events and checks again which jobs they
 * need. A job notes in the event that it has run before it ends. So a job that ends in between gets no second job.
 */
async function addLostJobs(database: Database, events: Unfinished[]): Promise<number> {
  if (events.length === 0) return 0;
  const missing = await database.query(selectMissing, columnsOf(events.flatMap(jobsOf)));
  const missingKeys = new Set(missing.map(keyOf));
  const ids = new Set(missing.map(({ id }) => id));
  const byAccount = Map.groupBy(
    events.filter(({ id }) => ids.has(id)),
    ({ account_id }) => account_id,
  );
  let count = 0;
  for (const [accountId, ofAccount] of byAccount) {
    count += await database.transaction(async transaction => {
      const locked = await transaction.query(lockUnfinished, { accountId, ids: ofAccount.map(({ id }) => id) });
      const lost = locked.flatMap(jobsOf).filter(job => missingKeys.has(keyOf(job)));
      if (lost.length > 0) await transaction.query(addJobs, { ...columnsOf(lost), accountId });
      return lost.length;
    });
  }
  return count;
}

function keyOf({ id, task }: Pick<EventJob, 'id' | 'task'>): string {
  return `${task}:${id}`;
}
