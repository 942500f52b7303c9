import type { Queryable } from '../../database/database.ts';
import { array, bigint, integer, nullable, sql, text } from '../../database/sql.ts';
import { addCount, type Batch, type RowCounts } from './batches.ts';

/**
 * Reads the next batch of the jobs of all accounts, and removes the jobs of one account from it. Reads the jobs by id,
 * because no index finds jobs by their payload. Running jobs are not removed. A running task ends without an error if
 * the rows that its payload names no longer exist.
 */
const removeJobs = sql(
  'remove_jobs_of_account',
  {
    arguments: { accountId: bigint(), batchSize: bigint(), after: bigint() },
    row: { last_id: nullable(bigint()), count: integer() },
  },
  `with chunk as materialized (
    select j.id, j.payload, t.identifier,
      case
        when t.identifier = 'mail_people' then j.payload #>> '{0,account_id}'
        -- In payloads of other tasks, such as an extension's own, account_id may have any value.
        when t.identifier in (
            'deliver_webhooks', 'post_to_chat', 'tell_people', 'mail_invitation', 'mail_account_deletion',
            'mail_summary', 'mail_token_expiry', 'replace_copies_of_idea', 'touch_ideas'
          ) or starts_with(t.identifier, 'extension_event:')
        then j.payload ->> 'account_id'
      end::bigint as account_id
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where j.id > $after
    order by j.id
    limit $batchSize
  ), removed as (
    select count(*)::int as count
    from graphile_worker.complete_jobs(array(
      select c.id from chunk c
      where c.account_id = $accountId
        -- The previous version of the server adds jobs without an account_id.
        or c.account_id is null and case c.identifier
          when 'deliver_webhooks' then exists (
            select from webhook_endpoints w
            where w.account_id = $accountId and w.id = (c.payload ->> 'endpoint_id')::bigint
          )
          when 'post_to_chat' then exists (
            select from chat_channels h
            where h.account_id = $accountId and h.id = (c.payload ->> 'channel_id')::bigint
          )
          when 'tell_people' then exists (
            select from events e where e.account_id = $accountId and e.id = (c.payload ->> 'event_id')::uuid
          )
          when 'mail_notifications' then exists (
            select from json_array_elements_text(c.payload) as mailed(id)
            join notifications n on n.account_id = $accountId and n.id = mailed.id::bigint
          )
        end
    ))
  )
  select (select max(id) from chunk) as last_id, removed.count from removed`,
  { isPrepared: false },
);

export async function removeAccountJobs(database: Queryable, batch: Batch, counts: RowCounts): Promise<void> {
  let after = 0;
  for (;;) {
    const [removed] = await database.query(removeJobs, { ...batch, after });
    if (!removed || removed.last_id === null) return;
    addCount(counts, 'jobs', removed.count);
    after = removed.last_id;
  }
}

/** Clears the error message of each job whose error message contains one of the given words. */
const clearErrors = sql(
  'clear_errors_of_jobs',
  { arguments: { words: array(text()) }, row: {} },
  `update graphile_worker._private_jobs j set last_error = null
  where exists (select from unnest($words::text[]) word where position(lower(word) in lower(j.last_error)) > 0)`,
  { isPrepared: false },
);

export async function forgetErrorsNaming(database: Queryable, words: readonly string[]): Promise<void> {
  await database.query(clearErrors, { words });
}

/**
 * Removes a user's waiting mail jobs, because a job's payload may contain the user's e-mail address. If a job was added
 * before the person signed up, its payload contains only the address and no user id. Running jobs are not removed.
 */
const removeLinks = sql(
  'remove_jobs_of_user',
  { arguments: { userId: bigint(), canonicalEmail: nullable(text()) }, row: { count: integer() } },
  `select count(*)::int as count
  from graphile_worker.complete_jobs(array(
    select j.id from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where t.identifier in (
        'mail_account_deletion', 'mail_address_link', 'mail_address_notice', 'mail_password_link',
        'mail_password_notice', 'mail_second_factor_notice', 'mail_sign_in_link'
      )
      and (
        (j.payload ->> 'user_id')::bigint = $userId
        or t.identifier = 'mail_sign_in_link' and j.payload ->> 'canonical_email' = $canonicalEmail
      )
  ))`,
  { isPrepared: false },
);

/** Removes the jobs whose mail would go to this user alone. Returns the number of removed jobs. */
export async function removeUserJobs(
  database: Queryable,
  { userId, canonicalEmail }: { userId: number; canonicalEmail: string | null },
): Promise<number> {
  const [removed] = await database.query(removeLinks, { userId, canonicalEmail });
  return removed?.count ?? 0;
}
