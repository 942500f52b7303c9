import { sql as fragment } from 'kysely';
import type { Queryable } from '../database/database.ts';
import { type Arguments, query } from '../database/query.ts';
import { integer, sql } from '../database/sql.ts';

/** The name of an extension's own job in the queue, and of its keys there. */
export function taskIdentifier(extension: string, task: string): string {
  return `ext:${extension}:${task}`;
}

/** The job that tells an extension of an event; record_event() in the database names it too. */
export function eventIdentifier(extension: string): string {
  return `extension_event:${extension}`;
}

/** The job that renews what an extension wants to be told of. */
export function renewalIdentifier(extension: string): string {
  return `renew_subscriptions:${extension}`;
}

/** The jobs of extensions, by the beginnings of their names. */
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
 * Has extensions told of the events that they want, from the next one on. Every process does it when it starts, and a
 * worker each hour: what nobody renews any more ends by itself, see clearLeftSubscriptions.
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

/** Long enough for a version without the extension to be tried and taken back, and no event is missed. */
const keptHours = 24;
/** A job is tried for some four days. One that is still there after a week is given up, or has no worker. */
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

/** Ends what extensions have left that are not in EXTENSIONS any more: their subscriptions, and jobs without a worker. */
export async function clearLeftSubscriptions(queue: Queryable, stopping: AbortSignal): Promise<void> {
  await queue.query(deleteLeft, {});
  while (!stopping.aborted) {
    const [deleted] = await queue.query(deleteOverdueJobs, {});
    if ((deleted?.count ?? 0) < batchSize) return;
  }
}
