-- no transaction
-- Indexes for the list of votes of an idea, and for more orders and filters of the list of ideas.
--
-- The previous version runs on the new schema.

-- The votes of an idea, the newest first.
drop index concurrently if exists votes_idea_id_created_at_idx;
-- next statement
create index concurrently votes_idea_id_created_at_idx on votes (account_id, idea_id, created_at desc, voter_id desc);
-- next statement
-- The rank of an idea in the order `trending`: the time of its creation in seconds since 2026, plus a week for each doubling
-- of its score. A negative score moves it back in the same way. The order of two ideas does not depend on the current time,
-- so an index can have it.
create or replace function idea_trend(p_score integer, p_created_at timestamptz) returns bigint
language sql immutable parallel safe
return (
  extract(epoch from p_created_at - timestamptz '2026-01-01 00:00:00+00')::double precision
  + 604800 * sign(p_score) * ln(greatest(abs(p_score), 1)::double precision) / ln(2::double precision)
)::bigint;
-- next statement
-- The trending ideas. The columns of the rank are included, so that PostgreSQL can skip rows without reading the table.
drop index concurrently if exists ideas_trending_idx;
-- next statement
create index concurrently ideas_trending_idx on ideas (status_id, idea_trend(score, created_at) desc, id desc)
  include (account_id, score, created_at)
  where moderation_state = 'published' and merged_into_id is null;
-- next statement
-- The ideas that changed last, and those that changed since a time.
drop index concurrently if exists ideas_updated_idx;
-- next statement
create index concurrently ideas_updated_idx on ideas (status_id, updated_at desc, id desc) include (account_id)
  where moderation_state = 'published' and merged_into_id is null;
-- next statement
-- The ideas with the most comments.
drop index concurrently if exists ideas_comments_idx;
-- next statement
create index concurrently ideas_comments_idx on ideas (status_id, comment_count desc, id desc) include (account_id)
  where moderation_state = 'published' and merged_into_id is null;
-- next statement
-- The ideas of an author, the newest first.
drop index concurrently if exists ideas_author_newest_idx;
-- next statement
create index concurrently ideas_author_newest_idx on ideas (status_id, author_id, created_at desc, id desc)
  include (account_id)
  where moderation_state = 'published' and merged_into_id is null;
