-- no transaction
-- What somebody follows, the newest idea first: with the ideas in the order of the index, a page reads as many rows as it
-- shows, however much is followed. Ideas gain followers all the time, so it is built beside them.
drop index concurrently if exists followers_user_id_idea_id_idx;
-- next statement
create index concurrently followers_user_id_idea_id_idx on followers (user_id, idea_id);
-- next statement
-- What it did, the one above does.
drop index concurrently if exists followers_user_id_idx;
