-- no transaction
-- The indexes of the new keys, and the account of the rows of tokens. Each index has its name of old with _new at the end
-- until 0019 swaps them. A run that failed may begin again: it drops what it left behind.

update api_token_boards b set account_id = t.account_id from api_tokens t where t.id = b.token_id and b.account_id is null;
-- next statement
update idempotency_keys k set account_id = t.account_id from api_tokens t where t.id = k.token_id and k.account_id is null;
-- next statement
alter table api_token_boards validate constraint api_token_boards_has_account;
-- next statement
alter table idempotency_keys validate constraint idempotency_keys_has_account;
-- next statement

-- Primary keys.
drop index concurrently if exists voters_pkey_new;
-- next statement
create unique index concurrently voters_pkey_new on voters (account_id, id);
-- next statement
drop index concurrently if exists api_tokens_pkey_new;
-- next statement
create unique index concurrently api_tokens_pkey_new on api_tokens (account_id, id);
-- next statement
drop index concurrently if exists boards_pkey_new;
-- next statement
create unique index concurrently boards_pkey_new on boards (account_id, id);
-- next statement
drop index concurrently if exists api_token_boards_pkey_new;
-- next statement
create unique index concurrently api_token_boards_pkey_new on api_token_boards (account_id, token_id, board_id);
-- next statement
drop index concurrently if exists chat_channels_pkey_new;
-- next statement
create unique index concurrently chat_channels_pkey_new on chat_channels (account_id, id);
-- next statement
drop index concurrently if exists statuses_pkey_new;
-- next statement
create unique index concurrently statuses_pkey_new on statuses (account_id, id);
-- next statement
drop index concurrently if exists ideas_pkey_new;
-- next statement
create unique index concurrently ideas_pkey_new on ideas (account_id, id);
-- next statement
drop index concurrently if exists comments_pkey_new;
-- next statement
create unique index concurrently comments_pkey_new on comments (account_id, id);
-- next statement
drop index concurrently if exists events_pkey_new;
-- next statement
create unique index concurrently events_pkey_new on events (account_id, id);
-- next statement
drop index concurrently if exists followers_pkey_new;
-- next statement
create unique index concurrently followers_pkey_new on followers (account_id, idea_id, user_id);
-- next statement
drop index concurrently if exists tags_pkey_new;
-- next statement
create unique index concurrently tags_pkey_new on tags (account_id, id);
-- next statement
drop index concurrently if exists idea_tags_pkey_new;
-- next statement
create unique index concurrently idea_tags_pkey_new on idea_tags (account_id, idea_id, tag_id);
-- next statement
drop index concurrently if exists idempotency_keys_pkey_new;
-- next statement
create unique index concurrently idempotency_keys_pkey_new on idempotency_keys (account_id, token_id, path, key);
-- next statement
drop index concurrently if exists invitations_pkey_new;
-- next statement
create unique index concurrently invitations_pkey_new on invitations (account_id, id);
-- next statement
drop index concurrently if exists merges_pkey_new;
-- next statement
create unique index concurrently merges_pkey_new on merges (account_id, id);
-- next statement
drop index concurrently if exists webhook_endpoints_pkey_new;
-- next statement
create unique index concurrently webhook_endpoints_pkey_new on webhook_endpoints (account_id, id);
-- next statement
drop index concurrently if exists notifications_pkey_new;
-- next statement
create unique index concurrently notifications_pkey_new on notifications (account_id, id);
-- next statement
drop index concurrently if exists votes_pkey_new;
-- next statement
create unique index concurrently votes_pkey_new on votes (account_id, idea_id, voter_id);
-- next statement
drop index concurrently if exists webhook_deliveries_pkey_new;
-- next statement
create unique index concurrently webhook_deliveries_pkey_new on webhook_deliveries (account_id, id);
-- next statement
drop index concurrently if exists webhook_attempts_pkey_new;
-- next statement
create unique index concurrently webhook_attempts_pkey_new on webhook_attempts (account_id, id);
-- next statement

-- Unique constraints and indexes.
drop index concurrently if exists api_tokens_voter_id_key_new;
-- next statement
create unique index concurrently api_tokens_voter_id_key_new on api_tokens (account_id, voter_id);
-- next statement
drop index concurrently if exists statuses_board_id_id_key_new;
-- next statement
create unique index concurrently statuses_board_id_id_key_new on statuses (account_id, board_id, id);
-- next statement
drop index concurrently if exists statuses_board_id_key_key_new;
-- next statement
create unique index concurrently statuses_board_id_key_key_new on statuses (account_id, board_id, key);
-- next statement
drop index concurrently if exists webhook_deliveries_event_id_endpoint_id_key_new;
-- next statement
create unique index concurrently webhook_deliveries_event_id_endpoint_id_key_new on webhook_deliveries (account_id, event_id, endpoint_id);
-- next statement
drop index concurrently if exists tags_board_id_name_key_new;
-- next statement
create unique index concurrently tags_board_id_name_key_new on tags (account_id, board_id, lower(name));
-- next statement
drop index concurrently if exists merges_source_id_key_new;
-- next statement
create unique index concurrently merges_source_id_key_new on merges (account_id, source_id) where unmerged_at is null;
-- next statement
drop index concurrently if exists notifications_account_id_event_id_user_id_key;
-- next statement
create unique index concurrently notifications_account_id_event_id_user_id_key on notifications (account_id, event_id, user_id);
-- next statement
-- The id is in the text of a token, which is all that a request has.
drop index concurrently if exists api_tokens_id_key;
-- next statement
create unique index concurrently api_tokens_id_key on api_tokens (id);
-- next statement

-- The other indexes. PostgreSQL reads the account from an index that a list walks, and so need not read the rows.
drop index concurrently if exists api_token_boards_board_id_idx_new;
-- next statement
create index concurrently api_token_boards_board_id_idx_new on api_token_boards (account_id, board_id);
-- next statement
drop index concurrently if exists chat_channels_board_id_idx_new;
-- next statement
create index concurrently chat_channels_board_id_idx_new on chat_channels (account_id, board_id);
-- next statement
drop index concurrently if exists comments_idea_id_id_idx_new;
-- next statement
create index concurrently comments_idea_id_id_idx_new on comments (account_id, idea_id, id);
-- next statement
drop index concurrently if exists events_board_id_idx_new;
-- next statement
create index concurrently events_board_id_idx_new on events (account_id, board_id);
-- next statement
drop index concurrently if exists events_idea_id_idx_new;
-- next statement
create index concurrently events_idea_id_idx_new on events (account_id, idea_id);
-- next statement
drop index concurrently if exists idea_tags_tag_id_idx_new;
-- next statement
create index concurrently idea_tags_tag_id_idx_new on idea_tags (account_id, tag_id);
-- next statement
drop index concurrently if exists ideas_board_id_status_id_idx_new;
-- next statement
create index concurrently ideas_board_id_status_id_idx_new on ideas (account_id, board_id, status_id);
-- next statement
drop index concurrently if exists ideas_merged_into_id_idx_new;
-- next statement
create index concurrently ideas_merged_into_id_idx_new on ideas (account_id, merged_into_id) where merged_into_id is not null;
-- next statement
drop index concurrently if exists ideas_newest_idx_new;
-- next statement
create index concurrently ideas_newest_idx_new on ideas (status_id, created_at desc, id desc) include (account_id)
  where moderation_state = 'published' and merged_into_id is null;
-- next statement
drop index concurrently if exists ideas_pending_idx_new;
-- next statement
create index concurrently ideas_pending_idx_new on ideas (status_id, created_at desc, id desc) include (account_id)
  where moderation_state = 'pending';
-- next statement
drop index concurrently if exists ideas_top_idx_new;
-- next statement
create index concurrently ideas_top_idx_new on ideas (status_id, score desc, id desc) include (account_id)
  where moderation_state = 'published' and merged_into_id is null;
-- next statement
drop index concurrently if exists merges_source_id_idx_new;
-- next statement
create index concurrently merges_source_id_idx_new on merges (account_id, source_id);
-- next statement
drop index concurrently if exists merges_target_id_idx_new;
-- next statement
create index concurrently merges_target_id_idx_new on merges (account_id, target_id);
-- next statement
drop index concurrently if exists notifications_endpoint_id_idx_new;
-- next statement
create index concurrently notifications_endpoint_id_idx_new on notifications (account_id, endpoint_id);
-- next statement
drop index concurrently if exists votes_voter_id_idx_new;
-- next statement
create index concurrently votes_voter_id_idx_new on votes (account_id, voter_id);
-- next statement
drop index concurrently if exists webhook_attempts_delivery_id_idx_new;
-- next statement
create index concurrently webhook_attempts_delivery_id_idx_new on webhook_attempts (account_id, delivery_id);
-- next statement
drop index concurrently if exists webhook_deliveries_dead_idx_new;
-- next statement
create index concurrently webhook_deliveries_dead_idx_new on webhook_deliveries (account_id, endpoint_id, id desc)
  where state = 'dead';
-- next statement
drop index concurrently if exists webhook_deliveries_endpoint_id_id_idx_new;
-- next statement
create index concurrently webhook_deliveries_endpoint_id_id_idx_new on webhook_deliveries (account_id, endpoint_id, id desc);
-- next statement
drop index concurrently if exists webhook_deliveries_pending_idx_new;
-- next statement
create index concurrently webhook_deliveries_pending_idx_new on webhook_deliveries (account_id, endpoint_id, lane, id)
  where state = 'pending';
-- next statement
drop index concurrently if exists webhook_endpoints_board_id_idx_new;
-- next statement
create index concurrently webhook_endpoints_board_id_idx_new on webhook_endpoints (account_id, board_id);
-- next statement

-- For the version before: its conflict targets, and its statements and jobs that name no account.
drop index concurrently if exists idempotency_keys_token_id_path_key_key;
-- next statement
create unique index concurrently idempotency_keys_token_id_path_key_key on idempotency_keys (token_id, path, key);
-- next statement
drop index concurrently if exists events_id_idx;
-- next statement
create index concurrently events_id_idx on events (id);
-- next statement
drop index concurrently if exists notifications_id_idx;
-- next statement
create index concurrently notifications_id_idx on notifications (id);
-- next statement
drop index concurrently if exists followers_idea_id_idx;
-- next statement
create index concurrently followers_idea_id_idx on followers (idea_id);
-- next statement
drop index concurrently if exists webhook_endpoints_id_idx;
-- next statement
create index concurrently webhook_endpoints_id_idx on webhook_endpoints (id);
-- next statement
drop index concurrently if exists chat_channels_id_idx;
-- next statement
create index concurrently chat_channels_id_idx on chat_channels (id);
-- next statement
drop index concurrently if exists api_token_boards_token_id_idx;
-- next statement
create index concurrently api_token_boards_token_id_idx on api_token_boards (token_id);
-- next statement
drop index concurrently if exists boards_id_idx;
-- next statement
create index concurrently boards_id_idx on boards (id);
