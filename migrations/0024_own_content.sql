-- no transaction
-- The time of an author's edit of a comment, and indexes for the lists of a person's own ideas, votes and comments.
--
-- Each index begins with the columns of an older index, which it replaces. So the previous version runs as before.

alter table comments add column if not exists edited_at timestamptz(3);
-- next statement
-- The ideas that a person submitted to a board, the newest first.
drop index concurrently if exists ideas_author_id_board_id_id_idx;
-- next statement
create index concurrently ideas_author_id_board_id_id_idx on ideas (author_id, board_id, id);
-- next statement
drop index concurrently if exists ideas_author_id_idx;
-- next statement
-- The comments of a person, for the export of their data.
drop index concurrently if exists comments_author_id_id_idx;
-- next statement
create index concurrently comments_author_id_id_idx on comments (author_id, id);
-- next statement
drop index concurrently if exists comments_author_id_idx;
-- next statement
-- The votes of a person in an account, the newest idea first.
drop index concurrently if exists votes_voter_id_idea_id_idx;
-- next statement
create index concurrently votes_voter_id_idea_id_idx on votes (account_id, voter_id, idea_id);
-- next statement
drop index concurrently if exists votes_voter_id_idx;
