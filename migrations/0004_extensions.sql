-- Extensions are told of events as webhooks are: by jobs that are made in the transaction of the event.

-- Which extension is told of which events. Every process that has the extension renews its rows; what nobody renews is
-- removed after a day, so that no jobs are made for an extension that is gone.
create table extension_subscriptions (
  event_type text not null,
  extension text not null,
  renewed_at timestamptz(3) not null,
  constraint extension_subscriptions_pkey primary key (event_type, extension)
);

-- As before, and with a job for each extension that wants to know.
create or replace function record_event(
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

  -- Under the queue of its idea, one after the other: so an extension hears of what happens to an idea in its order.
  perform graphile_worker.add_job(
    'extension_event:' || s.extension, json_build_object('event_id', v_event_id),
    queue_name => format('extension:%s:%s', s.extension, p_idea_id % 8), run_at => clock_timestamp()
  )
  from extension_subscriptions s
  where s.event_type = p_type;

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

-- As before, and a vote is recorded where an extension wants to know, too.
create or replace function cast_vote(
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

    -- Most votes interest no webhook and no extension, and then nothing is recorded.
    if exists (select from listening_endpoints(v_account_id, p_board_id, 'idea.voted'))
      or exists (select from extension_subscriptions s where s.event_type = 'idea.voted')
    then
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
