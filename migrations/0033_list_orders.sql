-- no transaction
-- Indexes for the list of votes of an idea, and for more orders and filters of the list of ideas.
--
-- The previous version runs on the new schema.

-- The votes of an idea, the newest first.
drop index concurrently if exists votes_idea_id_created_at_idx;
-- next statement
create index concurrently votes_idea_id_created_at_idx on votes (account_id, idea_id, created_at desc, voter_id desc);
