import { sql as fragment } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { integer, sql } from '../database/sql.ts';

/**
 * Returns the name of an extension's task in the job queue, with the prefix `ext:<extension>:`. The keys of the
 * extension's jobs get the same prefix.
 */
export function taskIdentifier(extension: string, task: string): string {
  return `ext:${extension}:${task}`;
}

/** Returns the name of an extension's task for events. The database function record_event() also uses this name. */
export function eventIdentifier(extension: string): string {
  return `extension_event:${extension}`;
}

/** Returns the name of the task that renews an extension's subscriptions. */
export function renewalIdentifier(extension: string): string {
  return `renew_subscriptions:${extension}`;
}

const identifierPattern = '^(ext|extension_event|renew_subscriptions):';

const renew = query(
  'renew_extension_subscriptions',
  (db, $: Arguments<{ extension: string; types: readonly string[] }>) =>
    db
      .insertInto('extension_subscriptions')
      .columns(['event_type', 'extension', 'renewed_at'])
      .expression(from =>
        from
          .selectFrom(fragment<{ event_type: string }>`unnest(${$.types}::text[])`.as<'e'>(fragment`e(event_type)`))
          .select(['e.event_type', $.extension.as('extension'), fragment<string>`now()`.as('renewed_at')])
          .orderBy('e.event_type'),
      )
      .onConflict(conflict =>
        conflict
          .columns(['event_type', 'extension'])
          .doUpdateSet(row => ({ renewed_at: row.ref('excluded.renewed_at') })),
      ),
);

/**
 * Subscribes extensions to the events that they handle, starting with the next event. Every server and worker process
 * calls this function at its start, and a worker also calls it each hour. clearLeftSubscriptions deletes subscriptions
 * that no process renews.
 */
export async function renewSubscriptions(
  database: Queryable,
  extensions: readonly { name: string; on?: object | undefined }[],
): Promise<void> {
  for (const { name, on = {} } of extensions) {
    const types = Object.keys(on);
    if (types.length > 0) await database.query(renew, { extension: name, types });
  }
}

/**
 * How long a subscription stays without renewal. Within this time, an operator can deploy a version without the
 * extension, and then roll back. The extension then misses no events.
 */
const keptHours = 24;
/**
 * The server deletes waiting jobs of extensions after this time. A job is retried for about four days. So after a week,
 * either the job has used all its tries, or no worker has its task.
 */
const overdueDays = 7;
const batchSize = 1_000;

const deleteLeft = query('delete_left_extension_subscriptions', db =>
  db
    .deleteFrom('extension_subscriptions')
    .where('renewed_at', '<', fragment<string>`now() - ${keptHours} * interval '1 hour'`),
);

const deleteOverdueJobs = sql(
  'delete_overdue_extension_jobs',
  { arguments: {}, row: { count: integer() } },
  `with overdue as (
    select array_agg(id) as ids from (
      select id from graphile_worker.jobs
      where task_identifier ~ '${identifierPattern}' and run_at < now() - interval '${overdueDays} days'
        and locked_at is null
      limit ${batchSize}
    ) j
  )
  select count(c.id)::int as count from overdue, graphile_worker.complete_jobs(overdue.ids) c`,
  { isPrepared: false },
);

/**
 * Deletes subscriptions that no process has renewed for a day, and jobs of extensions that have been overdue for a
 * week. Most of these subscriptions and jobs belong to extensions that are no longer in the setting EXTENSIONS.
 */
export async function clearLeftSubscriptions(queue: Queryable, stopping: AbortSignal): Promise<void> {
  await queue.query(deleteLeft, {});
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deleteOverdueJobs, {});
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
