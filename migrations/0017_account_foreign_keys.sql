-- The foreign keys with the account, beside the old ones. They hold for new rows from here on; 0018 checks the others.

-- Every request of the Agent API reads user_blocks before its transaction, and not in it. So new requests wait here, and
-- those that are under way can end.
lock table user_blocks in access exclusive mode;
lock table idempotency_keys, api_token_boards in access exclusive mode;
lock table api_tokens, voters, boards, statuses, ideas, tags, idea_tags, votes, comments, followers, merges,
  events, webhook_endpoints, webhook_deliveries, webhook_attempts, notifications, chat_channels
  in share row exclusive mode;

alter table api_token_boards alter column account_id set not null;
alter table api_token_boards drop constraint api_token_boards_has_account;
alter table idempotency_keys alter column account_id set not null;
alter table idempotency_keys drop constraint idempotency_keys_has_account;

alter table api_tokens add constraint api_tokens_voter_id_fkey_new foreign key (account_id, voter_id)
  references voters (account_id, id) on delete cascade not valid;
alter table api_token_boards add constraint api_token_boards_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table api_token_boards add constraint api_token_boards_token_id_fkey_new foreign key (account_id, token_id)
  references api_tokens (account_id, id) on delete cascade not valid;
alter table chat_channels add constraint chat_channels_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table statuses add constraint statuses_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table ideas add constraint ideas_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table ideas add constraint ideas_merged_into_id_fkey_new foreign key (account_id, merged_into_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table ideas add constraint ideas_status_of_board_fkey_new foreign key (account_id, board_id, status_id)
  references statuses (account_id, board_id, id) not valid;
alter table comments add constraint comments_idea_id_fkey_new foreign key (account_id, idea_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table events add constraint events_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table events add constraint events_idea_id_fkey_new foreign key (account_id, idea_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table followers add constraint followers_idea_id_fkey_new foreign key (account_id, idea_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table tags add constraint tags_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table idea_tags add constraint idea_tags_idea_id_fkey_new foreign key (account_id, idea_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table idea_tags add constraint idea_tags_tag_id_fkey_new foreign key (account_id, tag_id)
  references tags (account_id, id) on delete cascade not valid;
alter table idempotency_keys add constraint idempotency_keys_token_id_fkey_new foreign key (account_id, token_id)
  references api_tokens (account_id, id) on delete cascade not valid;
alter table merges add constraint merges_source_id_fkey_new foreign key (account_id, source_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table merges add constraint merges_target_id_fkey_new foreign key (account_id, target_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table webhook_endpoints add constraint webhook_endpoints_board_id_fkey_new foreign key (account_id, board_id)
  references boards (account_id, id) on delete cascade not valid;
alter table notifications add constraint notifications_endpoint_id_fkey_new foreign key (account_id, endpoint_id)
  references webhook_endpoints (account_id, id) on delete cascade not valid;
alter table notifications add constraint notifications_event_id_fkey_new foreign key (account_id, event_id)
  references events (account_id, id) on delete cascade not valid;
alter table votes add constraint votes_idea_id_fkey_new foreign key (account_id, idea_id)
  references ideas (account_id, id) on delete cascade not valid;
alter table votes add constraint votes_voter_id_fkey_new foreign key (account_id, voter_id)
  references voters (account_id, id) on delete cascade not valid;
alter table webhook_deliveries add constraint webhook_deliveries_endpoint_id_fkey_new foreign key (account_id, endpoint_id)
  references webhook_endpoints (account_id, id) on delete cascade not valid;
alter table webhook_deliveries add constraint webhook_deliveries_event_id_fkey_new foreign key (account_id, event_id)
  references events (account_id, id) on delete cascade not valid;
alter table webhook_attempts add constraint webhook_attempts_delivery_id_fkey_new foreign key (account_id, delivery_id)
  references webhook_deliveries (account_id, id) on delete cascade not valid;
