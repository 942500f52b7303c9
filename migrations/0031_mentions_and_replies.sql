-- no transaction
-- Mentions of members in texts, and official replies to ideas.
--
-- The previous version runs on the new schema. It records and notifies no mentions, and writes no official replies.

-- A member whom the body of an idea or a comment names after @.
create table if not exists mentions (
  account_id bigint not null constraint mentions_account_id_fkey references accounts on delete cascade,
  id bigint generated always as identity,
  idea_id bigint not null,
  -- Null for a mention in the body of the idea.
  comment_id bigint,
  user_id bigint not null constraint mentions_user_id_fkey references users on delete cascade,
  -- The name as the text writes it.
  name text not null,
  created_at timestamptz(3) not null default now(),
  constraint mentions_pkey primary key (account_id, id),
  constraint mentions_idea_id_comment_id_user_id_key unique nulls not distinct (account_id, idea_id, comment_id, user_id),
  constraint mentions_idea_id_fkey foreign key (account_id, idea_id)
    references ideas (account_id, id) on delete cascade,
  constraint mentions_comment_id_fkey foreign key (account_id, comment_id)
    references comments (account_id, id) on delete cascade
);
-- next statement
-- The deletion of a comment.
create index if not exists mentions_comment_id_idx on mentions (account_id, comment_id) where comment_id is not null;
-- next statement
-- The erasure of a person, and the export of their data.
create index if not exists mentions_user_id_id_idx on mentions (user_id, id);
-- next statement
-- Whether the person gets notifications of mentions.
alter table users add column if not exists wants_mentions boolean not null default true;
-- next statement
-- Whether the comment is an official reply of a moderator.
alter table comments add column if not exists is_official boolean not null default false;
-- next statement
-- The newest official reply of an idea.
drop index concurrently if exists comments_official_idea_id_id_idx;
-- next statement
create index concurrently comments_official_idea_id_id_idx on comments (account_id, idea_id, id) where is_official;
