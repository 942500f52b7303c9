import { statement } from '../../database/statement.ts';
import { chatEventTypes } from '../chat/chat-event-types.ts';
import { chatQueue } from '../chat/chat-queues.ts';
import type { PeopleDependencies } from './people-tasks.ts';

/** The payload of a tell_people job: `after` is where one that goes on begins, the last user who was told. */
interface TellPeople {
  event_id: string;
  after?: number;
}

/** How many are told by one job, so that none takes long: an event with more followers makes another job. */
const batchSize = 1000;

/** How many messages one mail job sends. */
const mailBatchSize = 100;

/**
 * Tells people of an event: in one statement, so that it happens once, whole, and in a single round trip.
 *
 * - posts: a job for each channel that wants the event. They are made by whoever marks the event as told.
 * - candidate, recipient: who is told, in the order of their ids. Only members are, and never the one who acted, nor
 *   anybody who is blocked, nor the placeholder of erased users.
 * - notified, mail: the notifications, of which a second run makes none, and jobs to mail them where there is an address.
 * - more: the job that goes on after a full batch.
 */
const tellPeopleStatement = statement<never>(
  'tell_people',
  `with event as materialized (
    select e.id, e.account_id, e.board_id, e.idea_id, e.actor_id, e.type, e.occurred_at, i.author_id,
      (e.body #>> '{data,target,id}')::bigint as target_id
    from events e join ideas i on i.id = e.idea_id
    where e.id = $1
  ), marked as (
    update events e set told_at = $3 from event where e.id = event.id and e.told_at is null and $2 = 0
    returning e.id
  ), posts as (
    select graphile_worker.add_job(
      'post_to_chat', json_build_object('channel_id', c.id, 'event_id', e.id),
      queue_name => ${chatQueue('c.account_id', 'c.id')}
    )
    from event e join marked using (id) join chat_channels c on c.board_id = e.board_id
    where c.disabled_at is null and e.type = any ($4) and (c.event_types = '{}' or e.type = any (c.event_types))
  ), candidate as (
    select f.user_id from event e join followers f on f.idea_id = e.idea_id
    where e.type in ('idea.status_changed', 'idea.merged', 'idea.unmerged', 'comment.created') and f.user_id > $2
    union
    select f.user_id from event e join followers f on f.idea_id = e.target_id
    where e.type = 'idea.merged' and f.user_id > $2
    union
    select m.user_id from event e join memberships m on m.account_id = e.account_id
    where e.type = 'idea.pending' and m.role in ('owner', 'admin', 'moderator') and m.user_id > $2
    union
    -- The author is told what became of a submission; one who published it without anybody's approval knows.
    select e.author_id from event e where e.type in ('idea.created', 'idea.rejected') and e.author_id > $2
  ), recipient as materialized (
    select c.user_id
    from event e cross join candidate c
    -- One by one: a plan that was made while the account was small must not join it whole.
    cross join lateral (
      select from memberships m where m.account_id = e.account_id and m.user_id = c.user_id limit 1
    ) member
    join users u on u.id = c.user_id and not u.is_placeholder
    where c.user_id is distinct from e.actor_id
      and not exists (select from user_blocks b where b.account_id = e.account_id and b.user_id = c.user_id)
    order by c.user_id
    limit $5
  ), notified as (
    insert into notifications (account_id, user_id, event_id, kind, created_at)
    select e.account_id, r.user_id, e.id, case e.type when 'idea.created' then 'idea.approved' else e.type end, $3
    from event e cross join recipient r
    order by r.user_id
    on conflict (event_id, user_id) do nothing
    returning id, user_id
  ), mailable as (
    select n.id, (row_number() over (order by n.id) - 1) / $6 as batch
    from notified n join users u on u.id = n.user_id
    where u.notification_email is not null
  ), mail as (
    select graphile_worker.add_job('mail_notifications', json_agg(id order by id)) from mailable group by batch
  ), more as (
    select graphile_worker.add_job(
      'tell_people', json_build_object('event_id', e.id, 'after', last.user_id),
      queue_name => format('people:%s', e.idea_id % 8)
    )
    from event e cross join (select max(user_id) as user_id, count(*) as told from recipient) last
    where last.told = $5
  )
  -- What is not counted is not carried out.
  select (select count(*) from posts), (select count(*) from mail), (select count(*) from more)`,
);

export function tellPeople({ queue, clock }: Pick<PeopleDependencies, 'queue' | 'clock'>) {
  return async (payload: unknown) => {
    const { event_id, after = 0 } = payload as TellPeople;
    await queue.query(tellPeopleStatement, [event_id, after, clock.now(), chatEventTypes, batchSize, mailBatchSize]);
  };
}
