-- Events in the order of their commits, for clients that follow a board, and the requests that wait for events.
--
-- The previous version runs on the new schema. It records events through record_event, which fills the new table.

-- The place of an event in the events of its board. A client reads the events of a board by their positions.
create table event_positions (
  account_id bigint not null,
  event_id uuid not null,
  board_id bigint not null,
  type text not null,
  -- Whether the idea of the event was pending. Only moderators read such an event.
  is_pending boolean not null,
  -- Numbers the events as the server records them. For the events of one idea, this is also the order of their commits.
  number bigint generated always as identity,
  -- Clients read the events in the order of the positions. place_events sets the position after the commit of the event,
  -- from the sequence of the numbers.
  position bigint,
  constraint event_positions_pkey primary key (account_id, event_id),
  constraint event_positions_event_id_fkey foreign key (account_id, event_id)
    references events (account_id, id) on delete cascade
);

insert into event_positions (account_id, event_id, board_id, type, is_pending)
select e.account_id, e.id, e.board_id, e.type, false
  from events e
 where e.board_id is not null and e.type not in ('idea.pending', 'idea.rejected')
 order by e.occurred_at, e.id;

-- The events of a board that have no position yet.
create index event_positions_unplaced_idx on event_positions (account_id, board_id, number) where position is null;
-- The next events of a board, by type.
create index event_positions_placed_idx on event_positions (account_id, board_id, type, position)
  where position is not null;

-- A request that waits for events of a board. A token has a limited number of slots. The server of the request renews
-- the row while the request waits. A crash of PostgreSQL empties the table and also ends the requests.
create unlogged table event_waits (
  account_id bigint not null,
  token_id bigint not null,
  slot smallint not null,
  board_id bigint not null,
  -- The server process of the request.
  server_id uuid not null,
  expires_at timestamptz(3) not null,
  constraint event_waits_pkey primary key (account_id, token_id, slot),
  constraint event_waits_token_id_fkey foreign key (account_id, token_id)
    references api_tokens (account_id, id) on delete cascade
);

-- Whether a request waits for events of the board.
create index event_waits_board_id_idx on event_waits (account_id, board_id);
-- The renewal by a server.
create index event_waits_server_id_idx on event_waits (server_id);

-- A board with clients that follow its votes. Other boards record votes only for webhooks and extensions.
create table vote_followings (
  account_id bigint not null,
  board_id bigint not null,
  -- A client that follows the votes renews the row. It is valid for a little longer than a cursor.
  expires_at timestamptz(3) not null,
  constraint vote_followings_pkey primary key (account_id, board_id),
  constraint vote_followings_board_id_fkey foreign key (account_id, board_id)
    references boards (account_id, id) on delete cascade
);

-- Gives the oldest events of a board without a position their positions, and returns their number. Only one transaction
-- at a time does so for a board, and its lock ends after its commit. So a reader who sees a position also sees every
-- smaller position of the board.
create function place_events(p_account_id bigint, p_board_id bigint, p_limit integer) returns integer
language plpgsql
as $$
declare
  v_count integer;
begin
  perform pg_advisory_xact_lock(hashtextextended('idea-board events ' || p_board_id, 0));
  -- The snapshot of this statement is newer than the lock.
  with unplaced as (
    select p.event_id, p.number
      from event_positions p
     where p.account_id = p_account_id and p.board_id = p_board_id and p.position is null
     order by p.number
     limit p_limit
  ), placed as (
    select u.event_id, nextval('event_positions_number_seq') as position
      from (select event_id from unplaced order by number) u
  )
  update event_positions p
     set position = placed.position
    from placed
   where p.account_id = p_account_id and p.event_id = placed.event_id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Offers a recorded event to the clients that follow its board. A notification makes its transaction commit alone, so
-- only a board with a waiting request sends one.
create function offer_event(
  p_account_id bigint, p_board_id bigint, p_event_id uuid, p_type text, p_is_pending boolean
) returns void
language plpgsql
as $$
begin
  insert into event_positions (account_id, event_id, board_id, type, is_pending)
  values (p_account_id, p_event_id, p_board_id, p_type, p_is_pending);

  if exists (
    select from event_waits w
     where w.account_id = p_account_id and w.board_id = p_board_id and w.expires_at > clock_timestamp()
  ) then
    perform pg_notify('idea_board_events', p_board_id::text);
  end if;
end
$$;

create or replace function record_event(
  p_account_id bigint, p_type text, p_idea_id bigint, p_target_id bigint, p_actor_id bigint, p_token_id bigint,
  p_details jsonb, p_now timestamptz
) returns uuid
language plpgsql
as $$
declare
  v_event_id uuid;
  v_board_id bigint;
  v_data jsonb;
  v_delivery record;
begin
  select i.board_id,
    jsonb_build_object(
      'board', json_build_object('id', b.id, 'slug', b.slug, 'name', b.name),
      'idea', idea_columns(p_account_id, i.id),
      'actor', (
        select json_build_object('id', u.id, 'name', u.name, 'token_id', p_token_id)
          from users u where u.id = p_actor_id
      ),
      'changes', '[]'::jsonb
    )
    || case
         when p_target_id is null then '{}'
         else jsonb_build_object('target', idea_columns(p_account_id, p_target_id))
       end
    || p_details
    into v_board_id, v_data
    from ideas i join boards b on b.account_id = p_account_id and b.id = i.board_id
   where i.account_id = p_account_id and i.id = p_idea_id;

  insert into events (account_id, board_id, idea_id, actor_id, type, data, body, occurred_at)
  values (
    p_account_id, v_board_id, p_idea_id, p_actor_id, p_type, v_data, event_body(p_type, v_data, p_now), p_now
  )
  returning id into v_event_id;

  -- An unpublished idea concerns its author and the moderators. No client that follows the board receives it.
  if p_type not in ('idea.pending', 'idea.rejected') then
    perform offer_event(
      p_account_id, v_board_id, v_event_id, p_type,
      coalesce(v_data #>> '{idea,moderation_state}', 'published') = 'pending'
    );
  end if;

  for v_delivery in
    insert into webhook_deliveries (account_id, endpoint_id, event_id, lane, created_at, next_attempt_at)
    select p_account_id, l.endpoint_id, v_event_id, p_idea_id % 8, p_now, now()
      from listening_endpoints(p_account_id, v_board_id, p_type) l
    -- An unpublished idea concerns its author and the moderators. No webhook receives it.
     where p_type not in ('idea.pending', 'idea.rejected')
    returning endpoint_id, lane
  loop
    -- Wakes the lane, which then sends its pending deliveries in order.
    perform graphile_worker.add_job('deliver_webhooks', json_build_object(
      'account_id', p_account_id, 'endpoint_id', v_delivery.endpoint_id, 'lane', v_delivery.lane
    ));
  end loop;

  -- The events of one idea are in one queue, so that an extension receives them in their order.
  perform graphile_worker.add_job(
    'extension_event:' || s.extension, json_build_object('account_id', p_account_id, 'event_id', v_event_id),
    queue_name => format('extension:%s:%s', s.extension, p_idea_id % 8), run_at => clock_timestamp()
  )
  from extension_subscriptions s
  where s.event_type = p_type;

  if p_type <> 'idea.voted' then
    -- Does not use now(), the time when the transaction began. A transaction that held the lock earlier may have begun
    -- later.
    perform graphile_worker.add_job(
      'tell_people', json_build_object('account_id', p_account_id, 'event_id', v_event_id),
      queue_name => format('people:%s', p_idea_id % 8), run_at => clock_timestamp()
    );
  end if;
  return v_event_id;
end
$$;

create or replace function cast_vote(
  p_account_id bigint, p_board_id bigint, p_idea_id bigint, p_voter_id bigint, p_value smallint, p_now timestamptz,
  p_actor_id bigint, p_token_id bigint,
  out outcome text, out changed boolean, out up_count integer, out down_count integer
)
language plpgsql
as $$
declare
  v_names constant text[] := array['down', 'none', 'up'];
  v_status_id bigint;
  v_old smallint;
begin
  changed := false;

  select i.status_id, i.up_count, i.down_count
    into v_status_id, up_count, down_count
    from ideas i
   where i.account_id = p_account_id and i.id = p_idea_id and i.board_id = p_board_id
     and i.moderation_state = 'published' and i.merged_into_id is null
     for no key update;
  if not found then
    outcome := 'not_found';
    return;
  end if;

  -- Read after the lock was acquired: the status may have changed while waiting for it.
  select case
           when b.is_frozen then 'board_frozen'
           when p_now < b.voting_open_at then 'voting_not_open_yet'
           when p_now >= b.voting_close_at then 'voting_closed'
           when not s.allow_votes then 'status_votes_closed'
           else 'ok'
         end
    into outcome
    from boards b, statuses s
   where b.account_id = p_account_id and b.id = p_board_id and s.account_id = p_account_id and s.id = v_status_id;
  if outcome <> 'ok' then
    return;
  end if;

  -- A copy from an idea that is not merged into this one does not count: see copy_votes.
  select v.value into v_old
    from votes v
   where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id
     and (v.carried_from_id is null or exists (
       select from ideas i
        where i.account_id = p_account_id and i.id = v.carried_from_id and i.merged_into_id = v.idea_id
     ));

  if p_value <> 0 then
    insert into votes (account_id, idea_id, voter_id, value, created_at)
    values (p_account_id, p_idea_id, p_voter_id, p_value, p_now)
    on conflict (account_id, idea_id, voter_id) do update
      set value = excluded.value, carried_from_id = null
      where votes.value <> excluded.value or votes.carried_from_id is not null;
  elsif v_old is not null then
    if exists (select from ideas i where i.account_id = p_account_id and i.merged_into_id = p_idea_id) then
      update votes v set value = 0, carried_from_id = null
       where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id;
    else
      delete from votes v
       where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id;
    end if;
  end if;

  if coalesce(v_old, 0) <> p_value then
    changed := true;
    update ideas i
       set up_count = i.up_count + (p_value = 1)::int - (coalesce(v_old, 0) = 1)::int,
           down_count = i.down_count + (p_value = -1)::int - (coalesce(v_old, 0) = -1)::int
     where i.account_id = p_account_id and i.id = p_idea_id
    returning i.up_count, i.down_count into up_count, down_count;

    -- Most votes interest no webhook, no extension and no client. Then nothing is recorded.
    if exists (select from listening_endpoints(p_account_id, p_board_id, 'idea.voted'))
      or exists (select from extension_subscriptions s where s.event_type = 'idea.voted')
      or exists (
        select from vote_followings f
         where f.account_id = p_account_id and f.board_id = p_board_id and f.expires_at > now()
      )
    then
      perform record_event(
        p_account_id, 'idea.voted', p_idea_id, null, p_actor_id, p_token_id,
        jsonb_build_object('vote', json_build_object(
          'value', v_names[p_value + 2], 'previous', v_names[coalesce(v_old, 0) + 2]
        )),
        p_now
      );
    end if;
  end if;
end
$$;
