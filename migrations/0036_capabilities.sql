-- no transaction
-- Capabilities of tokens, and the webhooks that tokens create.
--
-- The previous version runs on the new schema. It creates tokens without capabilities and webhooks without a token.

-- What a token may do besides the actions of its grants.
alter table api_tokens add column if not exists capabilities text[] not null default '{}';
-- next statement
alter table api_tokens drop constraint if exists api_tokens_capabilities_check;
-- next statement
alter table api_tokens add constraint api_tokens_capabilities_check
  check (capabilities <@ array['manage_webhooks']) not valid;
-- next statement
alter table api_tokens validate constraint api_tokens_capabilities_check;
-- next statement
-- The token that created a webhook.
alter table webhook_endpoints add column if not exists token_id bigint;
-- next statement
alter table webhook_endpoints drop constraint if exists webhook_endpoints_token_id_fkey;
-- next statement
alter table webhook_endpoints add constraint webhook_endpoints_token_id_fkey foreign key (account_id, token_id)
  references api_tokens (account_id, id) on delete set null (token_id) not valid;
-- next statement
alter table webhook_endpoints validate constraint webhook_endpoints_token_id_fkey;
-- next statement
-- The webhooks of a token, when the token is deleted.
drop index concurrently if exists webhook_endpoints_token_id_idx;
-- next statement
create index concurrently webhook_endpoints_token_id_idx on webhook_endpoints (account_id, token_id);
-- next statement
-- Only a token with the grant moderate may read events of ideas that await approval. A token with a lower grant may manage
-- webhooks, so webhooks get no such events. Programs may delete webhooks at any time, so a deletion at the same time no longer
-- makes the change fail.
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

  insert into events (account_id, board_id, idea_id, actor_id, type, data, body, occurred_at)
  values (
    p_account_id, v_board_id, p_idea_id, p_actor_id, p_type, v_data, event_body(p_type, v_data, p_now), p_now
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
