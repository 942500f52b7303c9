-- The keys with the account take the place and the names of the old ones.
-- Every statement here is brief: the indexes are there, and the rows are checked.

-- Every request of the Agent API reads user_blocks before its transaction, and not in it. So new requests wait here, and
-- those that are under way can end.
lock table user_blocks in access exclusive mode;
lock table idempotency_keys, api_token_boards, api_tokens, voters, boards, statuses, ideas, tags, idea_tags, votes,
  comments, followers, merges, events, webhook_endpoints, webhook_deliveries, webhook_attempts, notifications,
  chat_channels, invitations, oauth_records
  in access exclusive mode;

-- A global table refers to no table of an account. The server removes these records before their token.
alter table oauth_records drop constraint oauth_records_token_id_fkey;

-- Foreign keys.
alter table api_tokens drop constraint api_tokens_voter_id_fkey;
alter table api_tokens rename constraint api_tokens_voter_id_fkey_new to api_tokens_voter_id_fkey;
alter table api_token_boards drop constraint api_token_boards_board_id_fkey;
alter table api_token_boards rename constraint api_token_boards_board_id_fkey_new to api_token_boards_board_id_fkey;
alter table api_token_boards drop constraint api_token_boards_token_id_fkey;
alter table api_token_boards rename constraint api_token_boards_token_id_fkey_new to api_token_boards_token_id_fkey;
alter table chat_channels drop constraint chat_channels_board_id_fkey;
alter table chat_channels rename constraint chat_channels_board_id_fkey_new to chat_channels_board_id_fkey;
alter table statuses drop constraint statuses_board_id_fkey;
alter table statuses rename constraint statuses_board_id_fkey_new to statuses_board_id_fkey;
alter table ideas drop constraint ideas_board_id_fkey;
alter table ideas rename constraint ideas_board_id_fkey_new to ideas_board_id_fkey;
alter table ideas drop constraint ideas_merged_into_id_fkey;
alter table ideas rename constraint ideas_merged_into_id_fkey_new to ideas_merged_into_id_fkey;
alter table ideas drop constraint ideas_status_of_board_fkey;
alter table ideas rename constraint ideas_status_of_board_fkey_new to ideas_status_of_board_fkey;
alter table comments drop constraint comments_idea_id_fkey;
alter table comments rename constraint comments_idea_id_fkey_new to comments_idea_id_fkey;
alter table events drop constraint events_board_id_fkey;
alter table events rename constraint events_board_id_fkey_new to events_board_id_fkey;
alter table events drop constraint events_idea_id_fkey;
alter table events rename constraint events_idea_id_fkey_new to events_idea_id_fkey;
alter table followers drop constraint followers_idea_id_fkey;
alter table followers rename constraint followers_idea_id_fkey_new to followers_idea_id_fkey;
alter table tags drop constraint tags_board_id_fkey;
alter table tags rename constraint tags_board_id_fkey_new to tags_board_id_fkey;
alter table idea_tags drop constraint idea_tags_idea_id_fkey;
alter table idea_tags rename constraint idea_tags_idea_id_fkey_new to idea_tags_idea_id_fkey;
alter table idea_tags drop constraint idea_tags_tag_id_fkey;
alter table idea_tags rename constraint idea_tags_tag_id_fkey_new to idea_tags_tag_id_fkey;
alter table idempotency_keys drop constraint idempotency_keys_token_id_fkey;
alter table idempotency_keys rename constraint idempotency_keys_token_id_fkey_new to idempotency_keys_token_id_fkey;
alter table merges drop constraint merges_source_id_fkey;
alter table merges rename constraint merges_source_id_fkey_new to merges_source_id_fkey;
alter table merges drop constraint merges_target_id_fkey;
alter table merges rename constraint merges_target_id_fkey_new to merges_target_id_fkey;
alter table webhook_endpoints drop constraint webhook_endpoints_board_id_fkey;
alter table webhook_endpoints rename constraint webhook_endpoints_board_id_fkey_new to webhook_endpoints_board_id_fkey;
alter table notifications drop constraint notifications_endpoint_id_fkey;
alter table notifications rename constraint notifications_endpoint_id_fkey_new to notifications_endpoint_id_fkey;
alter table notifications drop constraint notifications_event_id_fkey;
alter table notifications rename constraint notifications_event_id_fkey_new to notifications_event_id_fkey;
alter table votes drop constraint votes_idea_id_fkey;
alter table votes rename constraint votes_idea_id_fkey_new to votes_idea_id_fkey;
alter table votes drop constraint votes_voter_id_fkey;
alter table votes rename constraint votes_voter_id_fkey_new to votes_voter_id_fkey;
alter table webhook_deliveries drop constraint webhook_deliveries_endpoint_id_fkey;
alter table webhook_deliveries rename constraint webhook_deliveries_endpoint_id_fkey_new to webhook_deliveries_endpoint_id_fkey;
alter table webhook_deliveries drop constraint webhook_deliveries_event_id_fkey;
alter table webhook_deliveries rename constraint webhook_deliveries_event_id_fkey_new to webhook_deliveries_event_id_fkey;
alter table webhook_attempts drop constraint webhook_attempts_delivery_id_fkey;
alter table webhook_attempts rename constraint webhook_attempts_delivery_id_fkey_new to webhook_attempts_delivery_id_fkey;

alter table api_tokens add constraint api_tokens_id_key unique using index api_tokens_id_key;

-- Tables of extensions may refer to the id alone. Their foreign keys stay, with a unique constraint on the id for them.
create temporary table foreign_keys_of_extensions on commit drop as
select f.conrelid::regclass as table_name, f.conname as name, pg_get_constraintdef(f.oid) as definition,
  f.confrelid::regclass as target, array(
    select a.attname from unnest(f.confkey) with ordinality as k (attnum, place)
    join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.attnum order by k.place
  ) as columns
from pg_constraint f
join pg_constraint k on k.conindid = f.conindid and k.contype = 'p' and k.conrelid = f.confrelid
join pg_attribute account on account.attrelid = f.confrelid and account.attname = 'account_id'
where f.contype = 'f' and not account.attnum = any (k.conkey);
do $$
declare
  v_key record;
begin
  for v_key in select * from foreign_keys_of_extensions loop
    execute format('alter table %s drop constraint %I', v_key.table_name, v_key.name);
  end loop;
end
$$;

-- Primary keys.
alter table voters drop constraint voters_pkey;
alter table voters add constraint voters_pkey primary key using index voters_pkey_new;
alter table api_tokens drop constraint api_tokens_pkey;
alter table api_tokens add constraint api_tokens_pkey primary key using index api_tokens_pkey_new;
alter table boards drop constraint boards_pkey;
alter table boards add constraint boards_pkey primary key using index boards_pkey_new;
alter table api_token_boards drop constraint api_token_boards_pkey;
alter table api_token_boards add constraint api_token_boards_pkey primary key using index api_token_boards_pkey_new;
alter table chat_channels drop constraint chat_channels_pkey;
alter table chat_channels add constraint chat_channels_pkey primary key using index chat_channels_pkey_new;
alter table statuses drop constraint statuses_pkey;
alter table statuses add constraint statuses_pkey primary key using index statuses_pkey_new;
alter table ideas drop constraint ideas_pkey;
alter table ideas add constraint ideas_pkey primary key using index ideas_pkey_new;
alter table comments drop constraint comments_pkey;
alter table comments add constraint comments_pkey primary key using index comments_pkey_new;
alter table events drop constraint events_pkey;
alter table events add constraint events_pkey primary key using index events_pkey_new;
alter table followers drop constraint followers_pkey;
alter table followers add constraint followers_pkey primary key using index followers_pkey_new;
alter table tags drop constraint tags_pkey;
alter table tags add constraint tags_pkey primary key using index tags_pkey_new;
alter table idea_tags drop constraint idea_tags_pkey;
alter table idea_tags add constraint idea_tags_pkey primary key using index idea_tags_pkey_new;
alter table idempotency_keys drop constraint idempotency_keys_pkey;
alter table idempotency_keys add constraint idempotency_keys_pkey primary key using index idempotency_keys_pkey_new;
alter table invitations drop constraint invitations_pkey;
alter table invitations add constraint invitations_pkey primary key using index invitations_pkey_new;
alter table merges drop constraint merges_pkey;
alter table merges add constraint merges_pkey primary key using index merges_pkey_new;
alter table webhook_endpoints drop constraint webhook_endpoints_pkey;
alter table webhook_endpoints add constraint webhook_endpoints_pkey primary key using index webhook_endpoints_pkey_new;
alter table notifications drop constraint notifications_pkey;
alter table notifications add constraint notifications_pkey primary key using index notifications_pkey_new;
alter table votes drop constraint votes_pkey;
alter table votes add constraint votes_pkey primary key using index votes_pkey_new;
alter table webhook_deliveries drop constraint webhook_deliveries_pkey;
alter table webhook_deliveries add constraint webhook_deliveries_pkey primary key using index webhook_deliveries_pkey_new;
alter table webhook_attempts drop constraint webhook_attempts_pkey;
alter table webhook_attempts add constraint webhook_attempts_pkey primary key using index webhook_attempts_pkey_new;
do $$
declare
  v_key record;
begin
  for v_key in
    select target, array_to_string(columns, '_') as name, string_agg(distinct column_name, ', ') as columns
    from foreign_keys_of_extensions, unnest(columns) column_name group by target, 2
  loop
    if not exists (
      select from pg_constraint where conrelid = v_key.target and conname = format('%s_%s_key', v_key.target, v_key.name)
    ) then
      execute format(
        'alter table %s add constraint %I unique (%s)', v_key.target, format('%s_%s_key', v_key.target, v_key.name), v_key.columns
      );
    end if;
  end loop;
  for v_key in select * from foreign_keys_of_extensions loop
    execute format('alter table %s add constraint %I %s', v_key.table_name, v_key.name, v_key.definition);
  end loop;
end
$$;

-- Unique constraints.
alter table api_tokens drop constraint api_tokens_voter_id_key;
alter table api_tokens add constraint api_tokens_voter_id_key unique using index api_tokens_voter_id_key_new;
alter table statuses drop constraint statuses_board_id_id_key;
alter table statuses add constraint statuses_board_id_id_key unique using index statuses_board_id_id_key_new;
alter table statuses drop constraint statuses_board_id_key_key;
alter table statuses add constraint statuses_board_id_key_key unique using index statuses_board_id_key_key_new;
alter table webhook_deliveries drop constraint webhook_deliveries_event_id_endpoint_id_key;
alter table webhook_deliveries add constraint webhook_deliveries_event_id_endpoint_id_key unique using index webhook_deliveries_event_id_endpoint_id_key_new;
-- For the version before, the unique constraint on (event_id, user_id) of notifications stays.
alter table notifications add constraint notifications_account_id_event_id_user_id_key
  unique using index notifications_account_id_event_id_user_id_key;

-- Indexes.
drop index tags_board_id_name_key;
alter index tags_board_id_name_key_new rename to tags_board_id_name_key;
drop index merges_source_id_key;
alter index merges_source_id_key_new rename to merges_source_id_key;
drop index api_token_boards_board_id_idx;
alter index api_token_boards_board_id_idx_new rename to api_token_boards_board_id_idx;
drop index chat_channels_board_id_idx;
alter index chat_channels_board_id_idx_new rename to chat_channels_board_id_idx;
drop index comments_idea_id_id_idx;
alter index comments_idea_id_id_idx_new rename to comments_idea_id_id_idx;
drop index events_board_id_idx;
alter index events_board_id_idx_new rename to events_board_id_idx;
drop index events_idea_id_idx;
alter index events_idea_id_idx_new rename to events_idea_id_idx;
drop index idea_tags_tag_id_idx;
alter index idea_tags_tag_id_idx_new rename to idea_tags_tag_id_idx;
drop index ideas_board_id_status_id_idx;
alter index ideas_board_id_status_id_idx_new rename to ideas_board_id_status_id_idx;
drop index ideas_merged_into_id_idx;
alter index ideas_merged_into_id_idx_new rename to ideas_merged_into_id_idx;
drop index ideas_newest_idx;
alter index ideas_newest_idx_new rename to ideas_newest_idx;
drop index ideas_pending_idx;
alter index ideas_pending_idx_new rename to ideas_pending_idx;
drop index ideas_top_idx;
alter index ideas_top_idx_new rename to ideas_top_idx;
drop index merges_source_id_idx;
alter index merges_source_id_idx_new rename to merges_source_id_idx;
drop index merges_target_id_idx;
alter index merges_target_id_idx_new rename to merges_target_id_idx;
drop index notifications_endpoint_id_idx;
alter index notifications_endpoint_id_idx_new rename to notifications_endpoint_id_idx;
drop index votes_voter_id_idx;
alter index votes_voter_id_idx_new rename to votes_voter_id_idx;
drop index webhook_attempts_delivery_id_idx;
alter index webhook_attempts_delivery_id_idx_new rename to webhook_attempts_delivery_id_idx;
drop index webhook_deliveries_dead_idx;
alter index webhook_deliveries_dead_idx_new rename to webhook_deliveries_dead_idx;
drop index webhook_deliveries_endpoint_id_id_idx;
alter index webhook_deliveries_endpoint_id_id_idx_new rename to webhook_deliveries_endpoint_id_id_idx;
drop index webhook_deliveries_pending_idx;
alter index webhook_deliveries_pending_idx_new rename to webhook_deliveries_pending_idx;
drop index webhook_endpoints_board_id_idx;
alter index webhook_endpoints_board_id_idx_new rename to webhook_endpoints_board_id_idx;

-- The primary keys begin with the account.
drop index api_tokens_account_id_idx;
drop index chat_channels_account_id_idx;
drop index events_account_id_idx;
drop index ideas_account_id_idx;
drop index notifications_account_id_idx;
drop index statuses_account_id_idx;
drop index tags_account_id_idx;
drop index webhook_endpoints_account_id_idx;

-- Nothing calls these since 0016, and a call from before has let go of the tables.
drop function idea_snapshot(bigint);
drop function carry_votes(bigint);
