import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Database, Queryable } from '../database/database.ts';
import { type Arguments, query, type RowOf } from '../database/query.ts';

/** The number of events in a batch. Each batch is one transaction for each of its accounts. */
const batchSize = 1_000;
/** The sweep skips younger events, because they may still be in a transaction, or their jobs may be running. */
const minAgeMinutes = 10;
/** The sweep adds no jobs for older events, because people no longer need to hear of them. */
const maxAgeHours = 24;

type UntoldEvent = RowOf<typeof selectUntold>;

/**
 * Selects the events of one hour that no tell_people job has processed. Votes have no such job. The query searches all
 * accounts, because a scheduled job runs it for all accounts.
 */
const selectUntold = query(
  'select_untold_events',
  (db, $: Arguments<{ hoursAgo: number; after: string }>) =>
    db
      .selectFrom('events as e')
      .select(['e.account_id', 'e.id'])
      .where('e.occurred_at', '>=', timeBefore(sql`${$.hoursAgo} + 1`))
      .where('e.occurred_at', '<', timeBefore($.hoursAgo))
      .where('e.told_at', 'is', null)
      .where('e.type', '<>', 'idea.voted')
      .where('e.idea_id', 'is not', null)
      .where('e.id', '>', $.after)
      .orderBy('e.id')
      .limit(batchSize),
  { isPrepared: false },
);

function timeBefore(hours: ReturnType<typeof sql>) {
  return sql<string>`now() - interval '${sql.lit(minAgeMinutes)} minutes' - (${hours})::int * interval '1 hour'`;
}

/** Of the given events, selects those without a job tell_people in the queue. */
const selectWithoutJob = query('select_events_without_job', (db, $: Arguments<{ ids: readonly string[] }>) =>
  db
    .selectFrom(sql<{ id: string }>`unnest(${$.ids}::uuid[])`.as<'e'>(sql`e(id)`))
    .select('e.id')
    .where(
      sql<boolean>`not exists (
        select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
        where t.identifier = 'tell_people' and j.payload ->> 'event_id' = e.id::text
      )`,
    ),
);

const lockUntold = query('lock_untold_events', (db, $: Arguments<{ accountId: number; ids: readonly string[] }>) =>
  db
    .selectFrom('events as e')
    .select(['e.id', 'e.type', e => e.ref('e.idea_id').$notNull().as('idea_id')])
    .where('e.account_id', '=', $.accountId)
    .where(e => e('e.id', '=', e.fn.any($.ids)))
    .where('e.told_at', 'is', null)
    .orderBy('e.occurred_at')
    .forNoKeyUpdate('e'),
);

interface EventColumns {
  accountId: number;
  ids: readonly string[];
  types: readonly string[];
  ideaIds: readonly number[];
}

function eventsOf({ ids, types, ideaIds }: Arguments<EventColumns>) {
  return sql<{ id: string; type: string; idea_id: number }>`unnest(
    ${ids}::uuid[], ${types}::text[], ${ideaIds}::bigint[])`.as<'e'>(sql`e(id, type, idea_id)`);
}

/** Adds the same job as record_event(), but with a key. So several runs of the sweep add only one job for an event. */
const addTellJobs = query('add_lost_tell_jobs', (db, $: Arguments<EventColumns>) =>
  db.selectFrom(eventsOf($)).select(
    sql`graphile_worker.add_job('tell_people', json_build_object('account_id', ${$.accountId}::bigint, 'event_id', e.id),
      queue_name => format('people:%s', e.idea_id % 8), job_key => format('tell:%s', e.id),
      job_key_mode => 'preserve_run_at')`.as('job'),
  ),
);

const addExtensionJobs = query('add_lost_extension_jobs', (db, $: Arguments<EventColumns>) =>
  db
    .selectFrom(eventsOf($))
    .innerJoin('extension_subscriptions as s', 's.event_type', 'e.type')
    .select(
      sql`graphile_worker.add_job('extension_event:' || s.extension,
        json_build_object('account_id', ${$.accountId}::bigint, 'event_id', e.id),
        queue_name => format('extension:%s:%s', s.extension, e.idea_id % 8),
        job_key => format('extension:%s:%s', s.extension, e.id), job_key_mode => 'preserve_run_at')`.as('job'),
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
      const events = await queue.query(selectUntold, { hoursAgo, after });
      const count = await addLostJobs(database, events);
      if (count > 0) logger.warn({ count }, 'events had no jobs, and got new jobs');
      const last = events.at(-1);
      if (!last || events.length < batchSize) break;
      after = last.id;
    }
  }
}

/**
 * Adds the jobs of events that have none. First looks for jobs, and then locks the events whose told_at is still null.
 * A job sets told_at before it ends. So an event whose job ends in between gets no second job.
 */
async function addLostJobs(database: Database, events: UntoldEvent[]): Promise<number> {
  if (events.length === 0) return 0;
  const rows = await database.query(selectWithoutJob, { ids: events.map(({ id }) => id) });
  const lost = new Set(rows.map(({ id }) => id));
  const byAccount = Map.groupBy(
    events.filter(({ id }) => lost.has(id)),
    ({ account_id }) => account_id,
  );
  let count = 0;
  for (const [accountId, ofAccount] of byAccount) {
    count += await database.transaction(async transaction => {
      const locked = await transaction.query(lockUntold, { accountId, ids: ofAccount.map(({ id }) => id) });
      const ids = locked.map(({ id }) => id);
      const types = locked.map(({ type }) => type);
      const columns = { accountId, ids, types, ideaIds: locked.map(({ idea_id }) => idea_id) };
      await transaction.query(addTellJobs, columns);
      await transaction.query(addExtensionJobs, columns);
      return locked.length;
    });
  }
  return count;
}
