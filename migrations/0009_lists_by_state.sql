-- no transaction
-- Indexes for lists and checks that read more than they showed. What they are of changes all the time, so they are built
-- beside it.

-- What was given up of the deliveries to an endpoint, newest first: few of all.
drop index concurrently if exists webhook_deliveries_dead_idx;
-- next statement
create index concurrently webhook_deliveries_dead_idx on webhook_deliveries (endpoint_id, id desc) where state = 'dead';
-- next statement
-- What was rejected in an account, the last one first.
drop index concurrently if exists ideas_rejected_idx;
-- next statement
create index concurrently ideas_rejected_idx on ideas (account_id, updated_at desc, id desc)
  where moderation_state = 'rejected';
-- next statement
-- Whether any idea has a status, which is asked when it is removed: by us, and by the foreign key once more.
drop index concurrently if exists ideas_board_id_status_id_idx;
-- next statement
create index concurrently ideas_board_id_status_id_idx on ideas (board_id, status_id);
-- next statement
-- What it did, the one above does.
drop index concurrently if exists ideas_board_id_idx;
