-- An event remembers the extensions that have not received it yet. So the sweep finds every lost job of an extension, also of
-- a vote. An import stores the terms of its ideas in fewer statements, and so needs less time.
--
-- The previous version runs on the new schema. Its workers do not remove an extension that has received an event, so the
-- sweep of the new version may send such an event of the last day to the extension a second time.

-- The extensions that have subscribed to the event and have not received it yet.
alter table events add column waiting_extensions text[] not null default '{}';

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
  v_is_pending boolean;
  v_delivery record;
  v_payload json;
  v_extensions text[];
  v_traceparent text := nullif(current_setting('idea_board.traceparent', true), '');
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
  v_is_pending := coalesce(v_data #>> '{idea,moderation_state}', 'published') = 'pending';

  select coalesce(array_agg(s.extension order by s.extension), '{}') into v_extensions
    from extension_subscriptions s where s.event_type = p_type;

  insert into events (account_id, board_id, idea_id, actor_id, type, data, body, occurred_at, waiting_extensions)
  values (
    p_account_id, v_board_id, p_idea_id, p_actor_id, p_type,
    v_data || jsonb_strip_nulls(jsonb_build_object('traceparent', v_traceparent)), event_body(p_type, v_data, p_now), p_now,
    v_extensions
  )
  returning id into v_event_id;

  -- An unpublished idea concerns its author and the moderators. No client that follows the board receives it.
  if p_type not in ('idea.pending', 'idea.rejected') then
    perform offer_event(p_account_id, v_board_id, v_event_id, p_type, v_is_pending);
  end if;

  for v_delivery in
    insert into webhook_deliveries (account_id, endpoint_id, event_id, lane, created_at, next_attempt_at)
    select p_account_id, w.id, v_event_id, p_idea_id % 8, p_now, now()
      from webhook_endpoints w
     where w.account_id = p_account_id
       and w.id in (select l.endpoint_id from listening_endpoints(p_account_id, v_board_id, p_type) l)
    -- An unpublished idea concerns its author and the moderators. No webhook receives it.
       and p_type not in ('idea.pending', 'idea.rejected') and not v_is_pending
    -- Waits for a transaction that deletes an endpoint. Then the event gets no delivery to it, instead of an error.
       for key share of w
    returning endpoint_id, lane
  loop
    -- Wakes the lane, which then sends its pending deliveries in order.
    perform graphile_worker.add_job('deliver_webhooks', json_strip_nulls(json_build_object(
      'account_id', p_account_id, 'endpoint_id', v_delivery.endpoint_id, 'lane', v_delivery.lane,
      'traceparent', v_traceparent
    )));
  end loop;

  v_payload := json_strip_nulls(json_build_object(
    'account_id', p_account_id, 'event_id', v_event_id, 'traceparent', v_traceparent
  ));
  -- The events of one idea are in one queue, so that an extension receives them in their order.
  perform graphile_worker.add_job(
    'extension_event:' || x.name, v_payload,
    queue_name => format('extension:%s:%s', x.name, p_idea_id % 8), run_at => clock_timestamp()
  )
  from unnest(v_extensions) x (name);

  if p_type <> 'idea.voted' then
    -- Does not use now(), the time when the transaction began. A transaction that held the lock earlier may have begun
    -- later.
    perform graphile_worker.add_job(
      'tell_people', v_payload,
      queue_name => format('people:%s', p_idea_id % 8), run_at => clock_timestamp()
    );
  end if;
  return v_event_id;
end
$$;

-- The same terms as before. The function does not normalize ASCII texts, because they are always normalized.
create or replace function similar_terms(board_id bigint, title_words tsvector, body text) returns tsvector
language sql immutable parallel safe strict
return array_to_tsvector(array(
  select board_id || ':' || t.term
    from unnest(
      tsvector_to_array(title_words || to_tsvector('idea_search',
        case when octet_length(left(body, 1000)) = char_length(left(body, 1000)) then left(body, 1000)
          else normalize(left(body, 1000), nfkc) end
      )) || typo_keys(tsvector_to_array(title_words))
    ) as t (term)
   -- A term of a tsvector has at most 2046 bytes.
   where octet_length(t.term) <= 1000
));

-- The pending list of the index collects new terms, until PostgreSQL moves many terms into the index at once. Each search reads
-- the list, so the list is short. An import sets a larger limit: the limit of an index would have priority over this setting.
alter index idea_terms_terms_idx reset (gin_pending_list_limit);

create or replace function keep_idea_terms() returns trigger
language plpgsql
set gin_pending_list_limit = '64kB'
as $$
begin
  -- An idea that is not published has no terms.
  insert into idea_terms (account_id, idea_id, terms)
  values (new.account_id, new.id, case when new.moderation_state = 'published'
    then similar_terms(new.board_id, new.title_words, new.body) else '' end)
  on conflict (account_id, idea_id) do update set terms = excluded.terms;
  return null;
end
$$;

-- A transaction that sets idea_board.keeps_terms to off stores the terms of its ideas itself.
create or replace trigger ideas_keep_terms after insert or update of title, body, moderation_state on ideas
  for each row when (current_setting('idea_board.keeps_terms', true) is distinct from 'off')
  execute function keep_idea_terms();
