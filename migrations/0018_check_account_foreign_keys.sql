-- no transaction
-- Checks the rows of the new foreign keys. Requests read and write meanwhile.

alter table api_tokens validate constraint api_tokens_voter_id_fkey_new;
-- next statement
alter table api_token_boards validate constraint api_token_boards_board_id_fkey_new;
-- next statement
alter table api_token_boards validate constraint api_token_boards_token_id_fkey_new;
-- next statement
alter table chat_channels validate constraint chat_channels_board_id_fkey_new;
-- next statement
alter table statuses validate constraint statuses_board_id_fkey_new;
-- next statement
alter table ideas validate constraint ideas_board_id_fkey_new;
-- next statement
alter table ideas validate constraint ideas_merged_into_id_fkey_new;
-- next statement
alter table ideas validate constraint ideas_status_of_board_fkey_new;
-- next statement
alter table comments validate constraint comments_idea_id_fkey_new;
-- next statement
alter table events validate constraint events_board_id_fkey_new;
-- next statement
alter table events validate constraint events_idea_id_fkey_new;
-- next statement
alter table followers validate constraint followers_idea_id_fkey_new;
-- next statement
alter table tags validate constraint tags_board_id_fkey_new;
-- next statement
alter table idea_tags validate constraint idea_tags_idea_id_fkey_new;
-- next statement
alter table idea_tags validate constraint idea_tags_tag_id_fkey_new;
-- next statement
alter table idempotency_keys validate constraint idempotency_keys_token_id_fkey_new;
-- next statement
alter table merges validate constraint merges_source_id_fkey_new;
-- next statement
alter table merges validate constraint merges_target_id_fkey_new;
-- next statement
alter table webhook_endpoints validate constraint webhook_endpoints_board_id_fkey_new;
-- next statement
alter table notifications validate constraint notifications_endpoint_id_fkey_new;
-- next statement
alter table notifications validate constraint notifications_event_id_fkey_new;
-- next statement
alter table votes validate constraint votes_idea_id_fkey_new;
-- next statement
alter table votes validate constraint votes_voter_id_fkey_new;
-- next statement
alter table webhook_deliveries validate constraint webhook_deliveries_endpoint_id_fkey_new;
-- next statement
alter table webhook_deliveries validate constraint webhook_deliveries_event_id_fkey_new;
-- next statement
alter table webhook_attempts validate constraint webhook_attempts_delivery_id_fkey_new;
