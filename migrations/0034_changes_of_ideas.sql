-- no transaction
-- Edits and deletions of ideas, with their events.
--
-- The previous version runs on the new schema. It shows no deleted ideas, because it reads only the states that it knows.

-- A deleted idea keeps its row without its texts until its events have expired. The constraint accepts more than before, so
-- existing rows need no check.
alter table ideas drop constraint if exists ideas_moderation_state_check;
-- next statement
alter table ideas add constraint ideas_moderation_state_check
  check (moderation_state in ('pending', 'published', 'rejected', 'deleted')) not valid;
-- next statement
alter table ideas validate constraint ideas_moderation_state_check;
-- next statement
-- The removal of deleted ideas.
drop index concurrently if exists ideas_deleted_idx;
-- next statement
create index concurrently ideas_deleted_idx on ideas (updated_at) where moderation_state = 'deleted';
-- next statement
-- Lets each change of an idea increase updated_at, also two changes in the same millisecond. So a client that names the
-- updated_at that it has read notices every change since then.
create or replace function advance_updated_at() returns trigger
language plpgsql
as $$
begin
  new.updated_at := old.updated_at + interval '1 millisecond';
  return new;
end
$$;
-- next statement
create or replace trigger ideas_advance_updated_at before update of updated_at on ideas
  for each row when (new.updated_at <= old.updated_at) execute function advance_updated_at();
-- next statement
-- An endpoint without a choice of types received these types. It now names them, so that it receives exactly the same
-- events as before.
update webhook_endpoints set event_types = array[
  'idea.created', 'idea.status_changed', 'idea.merged', 'idea.unmerged', 'idea.voted', 'comment.created'
] where event_types = '{}';
-- next statement
-- Votes are frequent. Only endpoints that name idea.voted receive them.
create or replace function listening_endpoints(p_account_id bigint, p_board_id bigint, p_type text)
returns table (endpoint_id bigint)
language sql stable
begin atomic
  select w.id
    from webhook_endpoints w
   where w.account_id = p_account_id and (w.board_id is null or w.board_id = p_board_id) and w.disabled_at is null
     and ((w.event_types = '{}' and p_type <> 'idea.voted') or p_type = any (w.event_types));
end;
