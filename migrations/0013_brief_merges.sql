-- Merges hold their locks for a shorter time. A merge of 100,000 votes held the locks of both ideas for the seconds in
-- which it wrote a copy of each vote. Now most copies are written before, in small batches, and a merge writes only what
-- is still missing.
--
-- A vote with carried_from_id counts only while that idea is merged into the idea that has the vote. The batches write
-- such votes before the merge, and a merge that fails leaves them behind: they count nowhere, and the next merge or
-- unmerge of the idea uses or removes them. A server of the version before uses the same functions. While a merge is
-- prepared, it may show a voter their own vote on the target a moment too early.

-- Copies votes of an idea to the idea into which it will be merged: the next p_count by voter after p_after_voter_id.
-- Returns the last voter of the batch, or null after the last batch. A vote that the target already has stays. The
-- lock on the target keeps votes on it from waiting for single rows.
create function copy_votes(p_idea_id bigint, p_target_id bigint, p_after_voter_id bigint, p_count integer) returns bigint
language plpgsql
as $$
declare
  v_last_voter_id bigint;
begin
  perform from ideas i where i.id = p_target_id for no key update;
  if exists (select from ideas i where i.id = p_idea_id and i.merged_into_id is not null) then
    return null;
  end if;

  with batch as materialized (
    select v.voter_id, v.account_id, v.value, v.created_at
      from votes v
     where v.idea_id = p_idea_id and v.voter_id > p_after_voter_id and v.value <> 0
       and (v.carried_from_id is null or exists (
         select from ideas i where i.id = v.carried_from_id and i.merged_into_id = v.idea_id
       ))
     order by v.voter_id
     limit p_count
  ),
  copied as (
    insert into votes (idea_id, voter_id, account_id, value, carried_from_id, created_at)
    select p_target_id, b.voter_id, b.account_id, b.value, p_idea_id, b.created_at from batch b order by b.voter_id
    on conflict (idea_id, voter_id) do nothing
  )
  select max(b.voter_id) into v_last_voter_id from batch b;
  return v_last_voter_id;
end
$$;

-- As before: carries the votes of the ideas merged into an idea to it and counts, then does the same for the idea into
-- which that one is merged, and so on. One vote per voter: the vote on the idea itself wins, then the idea that was
-- merged first. The caller has locked the idea and all that follow. It now writes only the differences.
create or replace function carry_votes(p_idea_id bigint) returns void
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
      select m.source_id from merges m where m.target_id = v_idea_id and m.unmerged_at is null order by m.id
    );

    -- A withdrawn vote has nothing left to keep away once nothing is merged into the idea.
    delete from votes v where v.idea_id = v_idea_id and v.value = 0 and v_source_ids = '{}';

    delete from votes v
     where v.idea_id = v_idea_id and v.carried_from_id is not null
       and not exists (
         select from votes s
          where s.idea_id = any (v_source_ids) and s.voter_id = v.voter_id and s.value <> 0
            and (s.carried_from_id is null or exists (
              select from ideas i where i.id = s.carried_from_id and i.merged_into_id = s.idea_id
            ))
       );

    insert into votes (idea_id, voter_id, account_id, value, carried_from_id, created_at)
    select v_idea_id, wanted.voter_id, wanted.account_id, wanted.value, wanted.source_id, wanted.created_at
      from (
        select distinct on (s.voter_id) s.voter_id, s.account_id, s.value, s.idea_id as source_id, s.created_at
          from votes s
         where s.idea_id = any (v_source_ids) and s.value <> 0
           and (s.carried_from_id is null or exists (
             select from ideas i where i.id = s.carried_from_id and i.merged_into_id = s.idea_id
           ))
         order by s.voter_id, array_position(v_source_ids, s.idea_id)
      ) wanted
      left join votes v on v.idea_id = v_idea_id and v.voter_id = wanted.voter_id
     where v.voter_id is null
        or v.carried_from_id is not null
          and (v.carried_from_id, v.value, v.created_at) <> (wanted.source_id, wanted.value, wanted.created_at)
     order by wanted.voter_id
    on conflict (idea_id, voter_id) do update
      set value = excluded.value, carried_from_id = excluded.carried_from_id, created_at = excluded.created_at;

    update ideas i
       set up_count = tally.up_count, down_count = tally.down_count
      from (
        select count(*) filter (where v.value = 1) as up_count, count(*) filter (where v.value = -1) as down_count
          from votes v where v.idea_id = v_idea_id
      ) tally
     where i.id = v_idea_id
    returning i.merged_into_id into v_idea_id;
  end loop;
end
$$;

-- Merges an idea into another, both locked, and counts the votes of the target.
create function begin_merge(p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_now timestamptz) returns void
language plpgsql
as $$
begin
  insert into merges (account_id, source_id, target_id, merged_at)
  values (p_account_id, p_idea_id, p_target_id, p_now);
  update ideas set merged_into_id = p_target_id, updated_at = p_now where id = p_idea_id;
  perform carry_votes(p_target_id);
end
$$;

-- As before, but a copy that does not count is no vote.
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

  -- A copy from an idea that is not merged into this one does not count: see copy_votes.
  select v.value into v_old
    from votes v
   where v.idea_id = p_idea_id and v.voter_id = p_voter_id
     and (v.carried_from_id is null or exists (
       select from ideas i where i.id = v.carried_from_id and i.merged_into_id = v.idea_id
     ));

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
