-- Functions that take the account. Each statement names it on each table of an account. Their conflict targets need the
-- indexes of 0015, and they run before and after 0019 replaces the keys. So no call meets a key that it does not know.

-- Carries the votes of the ideas merged into an idea to it and counts, then does the same for the idea into which that
-- one is merged, and so on. One vote per voter: the vote on the idea itself wins, then the idea that was merged first.
-- The caller has locked the idea and all that follow. Writes only the differences.
create function carry_votes(p_account_id bigint, p_idea_id bigint) returns void
language plpgsql
-- A plan for an idea with ten votes can take minutes for one with a hundred thousand.
set plan_cache_mode = force_custom_plan
as $$
declare
  v_idea_id bigint := p_idea_id;
  v_source_ids bigint[];
begin
  while v_idea_id is not null loop
    v_source_ids := array(
      select m.source_id from merges m
       where m.account_id = p_account_id and m.target_id = v_idea_id and m.unmerged_at is null
       order by m.id
    );

    -- A withdrawn vote has nothing left to keep away once nothing is merged into the idea.
    delete from votes v
     where v.account_id = p_account_id and v.idea_id = v_idea_id and v.value = 0 and v_source_ids = '{}';

    delete from votes v
     where v.account_id = p_account_id and v.idea_id = v_idea_id and v.carried_from_id is not null
       and not exists (
         select from votes s
          where s.account_id = p_account_id and s.idea_id = any (v_source_ids) and s.voter_id = v.voter_id
            and s.value <> 0
            and (s.carried_from_id is null or exists (
              select from ideas i
               where i.account_id = p_account_id and i.id = s.carried_from_id and i.merged_into_id = s.idea_id
            ))
       );

    insert into votes (account_id, idea_id, voter_id, value, carried_from_id, created_at)
    select p_account_id, v_idea_id, wanted.voter_id, wanted.value, wanted.source_id, wanted.created_at
      from (
        select distinct on (s.voter_id) s.voter_id, s.value, s.idea_id as source_id, s.created_at
          from votes s
         where s.account_id = p_account_id and s.idea_id = any (v_source_ids) and s.value <> 0
           and (s.carried_from_id is null or exists (
             select from ideas i
              where i.account_id = p_account_id and i.id = s.carried_from_id and i.merged_into_id = s.idea_id
           ))
         order by s.voter_id, array_position(v_source_ids, s.idea_id)
      ) wanted
      left join votes v on v.account_id = p_account_id and v.idea_id = v_idea_id and v.voter_id = wanted.voter_id
     where v.voter_id is null
        or v.carried_from_id is not null
          and (v.carried_from_id, v.value, v.created_at) <> (wanted.source_id, wanted.value, wanted.created_at)
     order by wanted.voter_id
    on conflict (account_id, idea_id, voter_id) do update
      set value = excluded.value, carried_from_id = excluded.carried_from_id, created_at = excluded.created_at;

    update ideas i
       set up_count = tally.up_count, down_count = tally.down_count
      from (
        select count(*) filter (where v.value = 1) as up_count, count(*) filter (where v.value = -1) as down_count
          from votes v where v.account_id = p_account_id and v.idea_id = v_idea_id
      ) tally
     where i.account_id = p_account_id and i.id = v_idea_id
    returning i.merged_into_id into v_idea_id;
  end loop;
end
$$;

-- Copies votes of an idea to the idea into which it will be merged: the next p_count by voter after p_after_voter_id.
-- Returns the last voter of the batch, or null after the last batch. A vote that the target already has stays. The
-- lock on the target keeps votes on it from waiting for single rows.
create function copy_votes(
  p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_after_voter_id bigint, p_count integer
) returns bigint
language plpgsql
as $$
declare
  v_last_voter_id bigint;
begin
  perform from ideas i where i.account_id = p_account_id and i.id = p_target_id for no key update;
  if exists (
    select from ideas i where i.account_id = p_account_id and i.id = p_idea_id and i.merged_into_id is not null
  ) then
    return null;
  end if;

  with batch as materialized (
    select v.voter_id, v.value, v.created_at
      from votes v
     where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id > p_after_voter_id and v.value <> 0
       and (v.carried_from_id is null or exists (
         select from ideas i
          where i.account_id = p_account_id and i.id = v.carried_from_id and i.merged_into_id = v.idea_id
       ))
     order by v.voter_id
     limit p_count
  ),
  copied as (
    insert into votes (account_id, idea_id, voter_id, value, carried_from_id, created_at)
    select p_account_id, p_target_id, b.voter_id, b.value, p_idea_id, b.created_at from batch b order by b.voter_id
    on conflict (account_id, idea_id, voter_id) do nothing
  )
  select max(b.voter_id) into v_last_voter_id from batch b;
  return v_last_voter_id;
end
$$;

create or replace function begin_merge(
  p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_now timestamptz
) returns void
language plpgsql
as $$
begin
  insert into merges (account_id, source_id, target_id, merged_at)
  values (p_account_id, p_idea_id, p_target_id, p_now);
  update ideas i set merged_into_id = p_target_id, updated_at = p_now
   where i.account_id = p_account_id and i.id = p_idea_id;
  perform carry_votes(p_account_id, p_target_id);
end
$$;

create function end_merge(p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_now timestamptz) returns void
language plpgsql
as $$
begin
  update merges m set unmerged_at = p_now
   where m.account_id = p_account_id and m.source_id = p_idea_id and m.unmerged_at is null;
  update ideas i set merged_into_id = null, updated_at = p_now
   where i.account_id = p_account_id and i.id = p_idea_id;
  perform carry_votes(p_account_id, p_target_id);
end
$$;

-- The columns of an idea as its readers see them, for an event. The server makes the body from them when it delivers the
-- event, with the presenter of its answers. A new column of ideas is in it without a change here.
create function idea_columns(p_account_id bigint, p_idea_id bigint) returns jsonb
language plpgsql stable
as $$
begin
  return (
    select to_jsonb(i) - '{account_id,board_id,author_id,status_id,rejection_reason,title_words}'::text[]
      || jsonb_build_object(
        'status_key', s.key, 'status_category', s.category, 'status_label', s.label,
        'author', json_build_object('id', u.id, 'name', u.name),
        'tags', coalesce((
          select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name), t.id)
            from idea_tags it join tags t on t.account_id = p_account_id and t.id = it.tag_id
           where it.account_id = p_account_id and it.idea_id = i.id
        ), '[]')
      )
      from ideas i
      join statuses s on s.account_id = p_account_id and s.id = i.status_id
      join users u on u.id = i.author_id
     where i.account_id = p_account_id and i.id = p_idea_id
  );
end
$$;

-- Records what happened to an idea, and adds the jobs that tell of it. The caller has locked the idea. p_details is what
-- the event says beyond the board, the idea, the target of a merge and who acted.
create function record_event(
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
    -- now() is when the transaction began, which may be before that of an earlier holder of the lock.
    perform graphile_worker.add_job(
      'tell_people', json_build_object('account_id', p_account_id, 'event_id', v_event_id),
      queue_name => format('people:%s', p_idea_id % 8), run_at => clock_timestamp()
    );
  end if;
  return v_event_id;
end
$$;

-- Casts a vote (Idea actions, rules 1 and 2): locks the idea, applies the rules, keeps the tally and records the event.
-- The vote has its rules here, since a vote is then one statement. Every other rule is in the server.
create function cast_vote(
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

    -- Most votes interest no webhook and no extension. Then nothing is recorded.
    if exists (select from listening_endpoints(p_account_id, p_board_id, 'idea.voted'))
      or exists (select from extension_subscriptions s where s.event_type = 'idea.voted')
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

-- For the version before: the body that its worker sends, and the functions without the account, which its server calls.

create function event_body(p_type text, p_data jsonb, p_now timestamptz) returns json
language plpgsql stable
as $$
begin
  return json_build_object(
    'type', p_type,
    'timestamp', rfc3339(p_now),
    'data', (
      select jsonb_object_agg(part.key, case
        when part.key not in ('idea', 'target') then part.value
        else part.value || jsonb_build_object(
          'status', case part.value ->> 'status_category'
            when 'inbox' then 'open' when 'active' then 'in_progress' when 'completed' then 'done'
            else part.value ->> 'status_category'
          end,
          'created_at', rfc3339((part.value ->> 'created_at')::timestamptz),
          'updated_at', rfc3339((part.value ->> 'updated_at')::timestamptz)
        )
      end)
      from jsonb_each(p_data) part
    )
  );
end
$$;

-- `limit` makes PostgreSQL look into the primary key once for each account, and never read all ideas.
create function account_of_idea(p_idea_id bigint) returns bigint
language plpgsql stable
as $$
begin
  return (
    select found.account_id
      from accounts a
      cross join lateral (
        select i.account_id from ideas i where i.account_id = a.id and i.id = p_idea_id limit 1
      ) found
  );
end
$$;

create or replace function record_event(
  p_type text, p_idea_id bigint, p_target_id bigint, p_actor_id bigint, p_token_id bigint, p_extra jsonb,
  p_now timestamptz
) returns uuid
language plpgsql
as $$
begin
  return record_event(
    account_of_idea(p_idea_id), p_type, p_idea_id, p_target_id, p_actor_id, p_token_id, p_extra, p_now
  );
end
$$;

create or replace function cast_vote(
  p_idea_id bigint, p_board_id bigint, p_voter_id bigint, p_value smallint, p_now timestamptz, p_actor_id bigint,
  p_token_id bigint, out outcome text, out changed boolean, out up_count integer, out down_count integer
)
language plpgsql
as $$
begin
  select c.outcome, c.changed, c.up_count, c.down_count
    into outcome, changed, up_count, down_count
    from cast_vote(
      account_of_idea(p_idea_id), p_board_id, p_idea_id, p_voter_id, p_value, p_now, p_actor_id, p_token_id
    ) c;
end
$$;

create or replace function copy_votes(
  p_idea_id bigint, p_target_id bigint, p_after_voter_id bigint, p_count integer
) returns bigint
language plpgsql
as $$
begin
  return copy_votes(account_of_idea(p_idea_id), p_idea_id, p_target_id, p_after_voter_id, p_count);
end
$$;

create or replace function end_merge(p_idea_id bigint, p_target_id bigint, p_now timestamptz) returns void
language plpgsql
as $$
begin
  perform end_merge(account_of_idea(p_idea_id), p_idea_id, p_target_id, p_now);
end
$$;
