import { sql as fragment } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { integer, sql } from '../database/sql.ts';

/** Returns the name of an extension's own task, or of a key of its jobs, in the queue. */
export function taskIdentifier(extension: string, task: string): string {
  return `ext:${extension}:${task}`;
}

/** Returns the name of the task for an extension's events. record_event() in the database adds jobs with this name. */
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
 * Subscribes extensions to the events that they handle, from the next event on. Every process does this when it starts,
 * and a worker each hour. Subscriptions that nobody renews end, see clearLeftSubscriptions.
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

/** A version without the extension can be tried and rolled back within this time, without missed events. */
const keptHours = 24;
/** A job is retried for about four days. After a week it has used all its tries, or no worker knows its task. */
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

/** Deletes the subscriptions and waiting jobs of extensions that are no longer in EXTENSIONS. */
export async function clearLeftSubscriptions(queue: Queryable, stopping: AbortSignal): Promise<void> {
  await queue.query(deleteLeft, {});
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deleteOverdueJobs, {});
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
