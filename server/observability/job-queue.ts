import type { Queryable } from '../database/database.ts';
import type { RowOf } from '../database/query.ts';
import { integer, json, nullable, sql, text, time } from '../database/sql.ts';

/**
 * The maximum number of jobs to read. The server reads the oldest jobs first, because failing jobs are usually among
 * them.
 */
export const mostJobsRead = 10_000;

/** A failing job in the operator's panel. The panel does not show the payload of the job. */
interface FailingJob {
  id: number;
  attempts: number;
  max_attempts: number;
  /** The time of the next attempt. Null if there are no attempts left. */
  next_attempt_at: string | null;
  last_error: string | null;
}

/** The counts of waiting and running jobs of one task, with some of the failing jobs. */
export type TaskQueue = RowOf<typeof selectQueue>;

const selectQueue = sql(
  'select_job_queue',
  {
    arguments: {},
    row: {
      task: text(),
      queued: integer(),
      due: integer(),
      running: integer(),
      failing: integer(),
      given_up: integer(),
      oldest_due_at: nullable(time()),
      failing_jobs: json<FailingJob[]>(),
    },
  },
  `with oldest as materialized (
    select id, task_id, attempts, max_attempts, run_at, locked_at, last_error,
      attempts >= max_attempts and locked_at is null as is_given_up,
      locked_at is null and attempts < max_attempts and run_at <= now() as is_due
    from graphile_worker._private_jobs
    order by id
    limit ${mostJobsRead}
  )
  select t.identifier as task, count(*)::int as queued,
    (count(*) filter (where j.is_due))::int as due,
    (count(*) filter (where j.locked_at is not null))::int as running,
    (count(*) filter (where j.last_error is not null))::int as failing,
    (count(*) filter (where j.is_given_up))::int as given_up,
    min(j.run_at) filter (where j.is_due) as oldest_due_at,
    (
      select coalesce(json_agg(failing.*), '[]') from (
        select f.id, f.attempts, f.max_attempts, case when not f.is_given_up then f.run_at end as next_attempt_at,
          left(f.last_error, 500) as last_error
        from oldest f where f.task_id = j.task_id and f.last_error is not null
        order by f.id limit 5
      ) failing
    ) as failing_jobs
  from oldest j join graphile_worker._private_tasks t on t.id = j.task_id
  group by t.identifier, j.task_id
  order by t.identifier`,
);

/** Reads the jobs of all accounts, grouped by task. */
export function readJobQueue(database: Queryable): Promise<TaskQueue[]> {
  return database.query(selectQueue, {});
}
