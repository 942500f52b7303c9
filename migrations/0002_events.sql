-- What happened, who is told of it, and how that went. An event, its deliveries and its jobs are made in the
-- transaction of the operation that they tell of: they commit with it or not at all.

create table events (
  id uuid not null default gen_random_uuid() constraint events_pkey primary key,
  account_id bigint not null constraint events_account_id_fkey references accounts on delete cascade,
  -- Both null for the test of an endpoint.
  board_id bigint constraint events_board_id_fkey references boards on delete cascade,
  idea_id bigint constraint events_idea_id_fkey references ideas on delete cascade,
  -- Who caused it; null for the operator of the server.
  actor_id bigint constraint events_actor_id_fkey references users on delete set null,
  type text not null,
  -- The body of the webhooks, to the letter: what is signed is what is sent, at every try.
  body json not null,
  occurred_at timestamptz(3) not null,
  -- When the chats were told: a job that runs again posts nothing twice.
  told_at timestamptz(3)
);

create index events_account_id_idx on events (account_id);
create index events_board_id_idx on events (board_id);
create index events_idea_id_idx on events (idea_id);
create index events_actor_id_idx on events (actor_id);
-- The clean-up of old events.
create index events_occurred_at_idx on events (occurred_at);

create table webhook_endpoints (
  id bigint generated always as identity constraint webhook_endpoints_pkey primary key,
  account_id bigint not null constraint webhook_endpoints_account_id_fkey references accounts on delete cascade,
  -- Null: every board of the account.
  board_id bigint constraint webhook_endpoints_board_id_fkey references boards on delete cascade,
  url text not null,
  description text not null default '',
  -- Empty: every type.
  event_types text[] not null default '{}',
  -- Encrypted with the application key.
  secret bytea not null,
  -- While rotating, the secret before signs too.
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  -- Since when every try has failed; null while the last one succeeded.
  failing_since timestamptz(3),
  -- While it fails, until when one process alone may try it.
  probed_until timestamptz(3),
  disabled_at timestamptz(3),
  disabled_reason text,
  created_at timestamptz(3) not null default now(),
  constraint webhook_endpoints_url_check check (char_length(url) between 1 and 2000),
  constraint webhook_endpoints_disabled_check check ((disabled_at is null) = (disabled_reason is null)),
  constraint webhook_endpoints_previous_check check ((previous_secret is null) = (previous_secret_expires_at is null))
);

-- The endpoints that an event is for.
create index webhook_endpoints_account_id_idx on webhook_endpoints (account_id);
create index webhook_endpoints_board_id_idx on webhook_endpoints (board_id);

create table webhook_deliveries (
  id bigint generated always as identity constraint webhook_deliveries_pkey primary key,
  account_id bigint not null,
  endpoint_id bigint not null
    constraint webhook_deliveries_endpoint_id_fkey references webhook_endpoints on delete cascade,
  event_id uuid not null constraint webhook_deliveries_event_id_fkey references events on delete cascade,
  -- One of the endpoint's eight: what is in one lane is sent one after the other, so that the order of an idea's events
  -- is kept.
  lane smallint not null default 0,
  state text not null default 'pending',
  attempt_count integer not null default 0,
  created_at timestamptz(3) not null default now(),
  next_attempt_at timestamptz(3),
  finished_at timestamptz(3),
  -- Told at least once, and recorded once.
  constraint webhook_deliveries_event_id_endpoint_id_key unique (event_id, endpoint_id),
  constraint webhook_deliveries_state_check check (state in ('pending', 'delivered', 'dead'))
);

-- What is next in a lane. Ids ascend in the order of an idea's events, whose lock is held while they are made.
create index webhook_deliveries_pending_idx on webhook_deliveries (endpoint_id, lane, id) where state = 'pending';

-- The delivery log of an endpoint, newest first.
create index webhook_deliveries_endpoint_id_id_idx on webhook_deliveries (endpoint_id, id desc);

create table webhook_attempts (
  id bigint generated always as identity constraint webhook_attempts_pkey primary key,
  account_id bigint not null,
  delivery_id bigint not null
    constraint webhook_attempts_delivery_id_fkey references webhook_deliveries on delete cascade,
  attempted_at timestamptz(3) not null,
  duration_ms integer not null,
  -- The status of the answer, or why there was none.
  status integer,
  error text,
  -- The beginning of the answer.
  response text,
  constraint webhook_attempts_outcome_check check ((status is null) <> (error is null))
);

create index webhook_attempts_delivery_id_idx on webhook_attempts (delivery_id);

create table chat_channels (
  id bigint generated always as identity constraint chat_channels_pkey primary key,
  account_id bigint not null constraint chat_channels_account_id_fkey references accounts on delete cascade,
  board_id bigint not null constraint chat_channels_board_id_fkey references boards on delete cascade,
  kind text not null,
  name text not null default '',
  -- The URL of the incoming webhook is what authorizes posting: encrypted with the application key.
  url bytea not null,
  event_types text[] not null default '{}',
  disabled_at timestamptz(3),
  disabled_reason text,
  created_at timestamptz(3) not null default now(),
  constraint chat_channels_kind_check check (kind in ('slack', 'discord', 'mattermost', 'teams')),
  constraint chat_channels_disabled_check check ((disabled_at is null) = (disabled_reason is null))
);

create index chat_channels_account_id_idx on chat_channels (account_id);
create index chat_channels_board_id_idx on chat_channels (board_id);

create table notifications (
  id bigint generated always as identity constraint notifications_pkey primary key,
  account_id bigint not null constraint notifications_account_id_fkey references accounts on delete cascade,
  user_id bigint not null constraint notifications_user_id_fkey references users on delete cascade,
  -- What it tells of: an event, or an endpoint that was disabled.
  event_id uuid constraint notifications_event_id_fkey references events on delete cascade,
  endpoint_id bigint constraint notifications_endpoint_id_fkey references webhook_endpoints on delete cascade,
  kind text not null,
  created_at timestamptz(3) not null default now(),
  read_at timestamptz(3),
  mailed_at timestamptz(3),
  -- One fan-out that runs twice tells nobody twice.
  constraint notifications_event_id_user_id_key unique (event_id, user_id),
  constraint notifications_subject_check check (num_nonnulls(event_id, endpoint_id) = 1)
);

-- A user's notifications, newest first.
create index notifications_user_id_id_idx on notifications (user_id, id desc);
create index notifications_account_id_idx on notifications (account_id);
create index notifications_endpoint_id_idx on notifications (endpoint_id);

create function rfc3339(p_time timestamptz) returns text
language sql immutable strict parallel safe
return to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- An idea as an event shows it.
create function idea_snapshot(p_idea_id bigint) returns json
language sql stable
return (
  select json_build_object(
    'id', i.id, 'title', i.title, 'body', i.body,
    'status', case s.category
      when 'inbox' then 'open' when 'active' then 'in_progress' when 'completed' then 'done' else s.category
    end,
    'status_key', s.key, 'status_category', s.category, 'status_label', s.label,
    'moderation_state', i.moderation_state,
    'score', i.score, 'up_count', i.up_count, 'down_count', i.down_count, 'comment_count', i.comment_count,
    'tags', coalesce((
      select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name), t.id)
      from idea_tags it join tags t on t.id = it.tag_id
      where it.idea_id = i.id
    ), '[]'),
    'author', json_build_object('id', u.id, 'name', u.name),
    'merged_into_id', i.merged_into_id,
    'created_at', rfc3339(i.created_at), 'updated_at', rfc3339(i.updated_at)
  )
  from ideas i join statuses s on s.id = i.status_id join users u on u.id = i.author_id
  where i.id = p_idea_id
);

-- The endpoints that want an event of a type on a board.
create function listening_endpoints(p_account_id bigint, p_board_id bigint, p_type text)
returns table (endpoint_id bigint)
language sql stable
begin atomic
  select w.id from webhook_endpoints w
  where w.account_id = p_account_id and (w.board_id is null or w.board_id = p_board_id)
    and w.disabled_at is null and (w.event_types = '{}' or p_type = any (w.event_types));
end;

-- Records what happened to an idea, in the transaction in which it happens, with the deliveries to the webhooks that
-- want to know and the job that tells people. The caller has locked the idea, so that the deliveries of one idea are
-- numbered in the order of its events.
create function record_event(
  p_type text, p_idea_id bigint, p_target_id bigint, p_actor_id bigint, p_token_id bigint, p_extra jsonb,
  p_now timestamptz
) returns uuid
language plpgsql
as $$
declare
  v_event_id uuid;
  v_account_id bigint;
  v_board_id bigint;
  v_delivery record;
begin
  insert into events (account_id, board_id, idea_id, actor_id, type, body, occurred_at)
  select i.account_id, i.board_id, i.id, p_actor_id, p_type,
    json_build_object(
      'type', p_type,
      'timestamp', rfc3339(p_now),
      'data', jsonb_build_object(
        'board', json_build_object('id', b.id, 'slug', b.slug, 'name', b.name),
        'idea', idea_snapshot(i.id),
        'actor', (
          select json_build_object('id', u.id, 'name', u.name, 'token_id', p_token_id)
          from users u where u.id = p_actor_id
        ),
        'changes', '[]'::jsonb
      )
      || case when p_target_id is null then '{}' else jsonb_build_object('target', idea_snapshot(p_target_id)) end
      || p_extra
    ),
    p_now
  from ideas i join boards b on b.id = i.board_id
  where i.id = p_idea_id
  returning id, account_id, board_id into v_event_id, v_account_id, v_board_id;

  for v_delivery in
    insert into webhook_deliveries (account_id, endpoint_id, event_id, lane, created_at, next_attempt_at)
    select v_account_id, l.endpoint_id, v_event_id, p_idea_id % 8, p_now, now()
    from listening_endpoints(v_account_id, v_board_id, p_type) l
    -- What has not been published is a matter of its author and the moderators: no webhook tells of it.
    where p_type not in ('idea.pending', 'idea.rejected')
    returning endpoint_id, lane
  loop
    -- Wakes the lane, which then sends what is pending in it, in order.
    perform graphile_worker.add_job(
      'deliver_webhooks', json_build_object('endpoint_id', v_delivery.endpoint_id, 'lane', v_delivery.lane)
    );
  end loop;

  if p_type <> 'idea.voted' then
    -- The transaction's begin, which is what now() says, may be before that of an earlier holder of the lock.
    perform graphile_worker.add_job(
      'tell_people', json_build_object('event_id', v_event_id), queue_name => format('people:%s', p_idea_id % 8),
      run_at => clock_timestamp()
    );
  end if;
  return v_event_id;
end
$$;

-- Sets a voter's vote on a published idea of a board and keeps the tally: one round trip, exact under any number of
-- parallel votes, since every writer of an idea's votes first locks the idea. Answers the rule that forbids the
-- vote as outcome, else 'ok' and the tally.
create function cast_vote(
  p_idea_id bigint, p_board_id bigint, p_voter_id bigint, p_value smallint, p_now timestamptz,
  p_actor_id bigint, p_token_id bigint,
  out outcome text, out changed boolean, out up_count integer, out down_count integer
)
language plpgsql
as $$
declare
  v_account_id bigint;
  v_names constant text[] := array['down', 'none', 'up'];
  v_status_id bigint;
  v_old smallint;
begin
  changed := false;

  select i.account_id, i.status_id, i.up_count, i.down_count
    into v_account_id, v_status_id, up_count, down_count
    from ideas i
   where i.id = p_idea_id and i.board_id = p_board_id
     and i.moderation_state = 'published' and i.merged_into_id is null
     for no key update;
  if not found then
    outcome := 'not_found';
    return;
  end if;

  -- Read after the lock was had: the status may have changed while waiting for it.
  select case
           when b.is_frozen then 'board_frozen'
           when p_now < b.voting_open_at then 'voting_not_open_yet'
           when p_now >= b.voting_close_at then 'voting_closed'
           when not s.allow_votes then 'status_votes_closed'
           else 'ok'
         end
    into outcome
    from boards b, statuses s
   where b.id = p_board_id and s.id = v_status_id;
  if outcome <> 'ok' then
    return;
  end if;

  select v.value into v_old from votes v where v.idea_id = p_idea_id and v.voter_id = p_voter_id;

  if p_value <> 0 then
    insert into votes (idea_id, voter_id, account_id, value, created_at)
    values (p_idea_id, p_voter_id, v_account_id, p_value, p_now)
    on conflict (idea_id, voter_id) do update
      set value = excluded.value, carried_from_id = null
      where votes.value <> excluded.value or votes.carried_from_id is not null;
  elsif v_old is not null then
    if exists (select from ideas i where i.merged_into_id = p_idea_id) then
      update votes v set value = 0, carried_from_id = null where v.idea_id = p_idea_id and v.voter_id = p_voter_id;
    else
      delete from votes v where v.idea_id = p_idea_id and v.voter_id = p_voter_id;
    end if;
  end if;

  if coalesce(v_old, 0) <> p_value then
    changed := true;
    update ideas i
       set up_count = i.up_count + (p_value = 1)::int - (coalesce(v_old, 0) = 1)::int,
           down_count = i.down_count + (p_value = -1)::int - (coalesce(v_old, 0) = -1)::int
     where i.id = p_idea_id
    returning i.up_count, i.down_count into up_count, down_count;

    -- Most votes interest no webhook, and then nothing is recorded.
    if exists (select from listening_endpoints(v_account_id, p_board_id, 'idea.voted')) then
      perform record_event(
        'idea.voted', p_idea_id, null, p_actor_id, p_token_id,
        jsonb_build_object('vote', json_build_object(
          'value', v_names[p_value + 2], 'previous', v_names[coalesce(v_old, 0) + 2]
        )),
        p_now
      );
    end if;
  end if;
end
$$;
