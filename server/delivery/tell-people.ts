import { array, bigint, sql, text, time, uuid } from '../database/sql.ts';
import { chatEventTypes } from '../domain/chat/chat-event-types.ts';
import { findAccountOfEvent } from '../domain/events/find-account-of-event.ts';
import { dataOfEvent } from '../domain/events/recorded-event.ts';
import { chatQueue } from './chat/chat-queues.ts';
import type { TaskDependencies } from './dependencies.ts';

/** The payload of a tell_people job. */
interface TellPeople {
  /** Missing in jobs of the version before this one. */
  account_id?: number;
  event_id: string;
  /** Where a job goes on: the last user who was told. */
  after?: number;
}

/** How many are told by one job, so that none takes long: an event with more followers makes another job. */
const batchSize = 1000;

/** How many messages one mail job sends. */
const mailBatchSize = 100;

/**
 * Tells people of an event. It is one statement, so that all of it happens or nothing, in one round trip.
 *
 * - posts: a job for each channel that subscribed to the event. Only the run that marks the event as told adds them.
 * - candidate, recipient: the users to tell, in the order of their ids. They are members, but not the actor, not blocked
 *   and not the placeholder of erased users.
 * - notified, mail: the notifications, and jobs that mail them to users with an address. A second run adds none.
 * - more: the job for the next batch.
 */
const tellPeopleStatement = sql(
  'tell_people',
  {
    arguments: {
      accountId: bigint(),
      eventId: uuid(),
      after: bigint(),
      now: time(),
      chatTypes: array(text()),
      batchSize: bigint(),
      mailBatchSize: bigint(),
    },
    row: { posts: bigint(), mails: bigint(), more: bigint() },
  },
  `with event as materialized (
    select e.board_id, e.idea_id, e.actor_id, e.type, i.author_id,
      (${dataOfEvent} #>> '{target,id}')::bigint as target_id
    from events e join ideas i on i.account_id = $accountId and i.id = e.idea_id
    where e.account_id = $accountId and e.id = $eventId
  ), marked as (
    update events e set told_at = $now
    where e.account_id = $accountId and e.id = $eventId and e.told_at is null and $after::bigint = 0
    returning e.board_id, e.type
  ), posts as (
    select graphile_worker.add_job(
      'post_to_chat', json_build_object('account_id', $accountId::bigint, 'channel_id', c.id, 'event_id', $eventId::uuid),
      queue_name => ${chatQueue('$accountId::bigint', 'c.id')}
    )
    from marked e join chat_channels c on c.account_id = $accountId and c.board_id = e.board_id
    where c.disabled_at is null and e.type = any ($chatTypes) and (c.event_types = '{}' or e.type = any (c.event_types))
  ), candidate as (
    select f.user_id from event e join followers f on f.account_id = $accountId and f.idea_id = e.idea_id
    where e.type in ('idea.status_changed', 'idea.merged', 'idea.unmerged', 'comment.created') and f.user_id > $after
    union
    select f.user_id from event e join followers f on f.account_id = $accountId and f.idea_id = e.target_id
    where e.type = 'idea.merged' and f.user_id > $after
    union
    select m.user_id from event e join memberships m on m.account_id = $accountId
    where e.type = 'idea.pending' and m.role in ('owner', 'admin', 'moderator') and m.user_id > $after
    union
    -- The author is told what became of a submission; one who published it without anybody's approval knows.
    select e.author_id from event e where e.type in ('idea.created', 'idea.rejected') and e.author_id > $after
  ), recipient as materialized (
    select c.user_id
    from event e cross join candidate c
    -- One by one: a plan that was made while the account was small must not join it whole.
    cross join lateral (
      select from memberships m where m.account_id = $accountId and m.user_id = c.user_id limit 1
    ) member
    join users u on u.id = c.user_id and not u.is_placeholder
    where c.user_id is distinct from e.actor_id
      and not exists (select from user_blocks b where b.account_id = $accountId and b.user_id = c.user_id)
    order by c.user_id
    limit $batchSize
  ), notified as (
    insert into notifications (account_id, user_id, event_id, kind, created_at)
    select $accountId, r.user_id, $eventId, case e.type when 'idea.created' then 'idea.approved' else e.type end, $now
    from event e cross join recipient r
    order by r.user_id
    on conflict (account_id, event_id, user_id) do nothing
    returning id, user_id
  ), mailable as (
    select json_build_object('account_id', $accountId::bigint, 'id', n.id) as entry, n.id,
      (row_number() over (order by n.id) - 1) / $mailBatchSize as batch
    from notified n join users u on u.id = n.user_id
    where u.notification_email is not null
  ), mail as (
    select graphile_worker.add_job('mail_people', json_agg(entry order by id)) from mailable group by batch
  ), more as (
    select graphile_worker.add_job(
      'tell_people', json_build_object('account_id', $accountId::bigint, 'event_id', $eventId::uuid, 'after', last.user_id),
      queue_name => format('people:%s', e.idea_id % 8)
    )
    from event e cross join (select max(user_id) as user_id, count(*) as told from recipient) last
    where last.told = $batchSize
  )
  -- PostgreSQL runs only what is counted.
  select (select count(*) from posts) as posts, (select count(*) from mail) as mails, (select count(*) from more) as more`,
);

export function tellPeople({ queue, clock }: Pick<TaskDependencies, 'queue' | 'clock'>) {
  return async (payload: unknown) => {
    const { account_id, event_id: eventId, after = 0 } = payload as TellPeople;
    const accountId = account_id ?? (await findAccountOfEvent(queue, eventId));
    if (accountId === undefined) return;
    await queue.query(tellPeopleStatement, {
      accountId,
      eventId,
      after,
      now: clock.now(),
      chatTypes: chatEventTypes,
      batchSize,
      mailBatchSize,
    });
  };
}
