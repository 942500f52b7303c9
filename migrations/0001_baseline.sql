-- The baseline schema. It is never edited: every later change is a new file.
--
-- Conventions: every table that grows carries account_id, so that accounts can be spread over machines later.
-- Times are timestamptz(3): a JavaScript Date holds milliseconds, and a keyset cursor must compare exactly.

create extension if not exists unaccent;
create extension if not exists btree_gin;

-- Words as the simple configuration splits them, with accents folded.
create text search configuration idea_search (copy = simple);
alter text search configuration idea_search
  alter mapping for asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part, hword_numpart
  with unaccent, simple;

create table accounts (
  id bigint generated always as identity constraint accounts_pkey primary key,
  slug text not null constraint accounts_slug_key unique,
  name text not null,
  plan text not null default 'community',
  deletion_scheduled_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint accounts_slug_check check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  constraint accounts_name_check check (char_length(name) between 1 and 100)
);

create table users (
  id bigint generated always as identity constraint users_pkey primary key,
  email text,
  name text not null,
  avatar_url text,
  notification_email text,
  is_operator boolean not null default false,
  is_placeholder boolean not null default false,
  deletion_requested_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint users_name_check check (char_length(name) between 1 and 100),
  constraint users_email_check check ((email is null) = is_placeholder)
);

-- Sign-in and the command line find a user by address, whatever its case.
create unique index users_email_key on users (lower(email));

-- The one user that takes over what erased users wrote.
create unique index users_placeholder_key on users (is_placeholder) where is_placeholder;

create table memberships (
  account_id bigint not null constraint memberships_account_id_fkey references accounts on delete cascade,
  user_id bigint not null constraint memberships_user_id_fkey references users on delete cascade,
  role text not null,
  created_at timestamptz(3) not null default now(),
  constraint memberships_pkey primary key (account_id, user_id),
  constraint memberships_role_check check (role in ('owner', 'admin', 'moderator', 'member'))
);

-- The accounts of a user, and erasure.
create index memberships_user_id_idx on memberships (user_id);

create table user_blocks (
  account_id bigint not null constraint user_blocks_account_id_fkey references accounts on delete cascade,
  user_id bigint not null constraint user_blocks_user_id_fkey references users on delete cascade,
  reason text not null default '',
  created_at timestamptz(3) not null default now(),
  constraint user_blocks_pkey primary key (account_id, user_id)
);

create index user_blocks_user_id_idx on user_blocks (user_id);

-- Who votes: a user in an account, or a token. Votes point here and not at users, so that unlinking an erased
-- user is one update which leaves every vote counted, and still once per voter when ideas are merged.
create table voters (
  id bigint generated always as identity constraint voters_pkey primary key,
  account_id bigint not null constraint voters_account_id_fkey references accounts on delete cascade,
  user_id bigint constraint voters_user_id_fkey references users on delete set null,
  constraint voters_account_id_user_id_key unique (account_id, user_id)
);

create index voters_user_id_idx on voters (user_id);

create table boards (
  id bigint generated always as identity constraint boards_pkey primary key,
  account_id bigint not null constraint boards_account_id_fkey references accounts on delete cascade,
  slug text not null,
  name text not null,
  description text not null default '',
  is_frozen boolean not null default false,
  pre_moderation boolean not null default false,
  submissions_open_at timestamptz(3),
  submissions_close_at timestamptz(3),
  voting_open_at timestamptz(3),
  voting_close_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint boards_account_id_slug_key unique (account_id, slug),
  constraint boards_slug_check check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  constraint boards_name_check check (char_length(name) between 1 and 100),
  constraint boards_submissions_check check (submissions_open_at < submissions_close_at),
  constraint boards_voting_check check (voting_open_at < voting_close_at)
);

create table statuses (
  id bigint generated always as identity constraint statuses_pkey primary key,
  account_id bigint not null constraint statuses_account_id_fkey references accounts on delete cascade,
  board_id bigint not null constraint statuses_board_id_fkey references boards on delete cascade,
  key text not null,
  category text not null,
  label text not null,
  is_hidden boolean not null default false,
  allow_votes boolean not null default true,
  allow_comments boolean not null default true,
  position integer not null,
  constraint statuses_board_id_key_key unique (board_id, key),
  constraint statuses_board_id_id_key unique (board_id, id),
  constraint statuses_key_check check (key ~ '^[a-z0-9][a-z0-9_-]{0,49}$'),
  constraint statuses_label_check check (char_length(label) between 1 and 60),
  constraint statuses_category_check
    check (category in ('inbox', 'planned', 'active', 'completed', 'declined', 'archived'))
);

create index statuses_account_id_idx on statuses (account_id);

create table tags (
  id bigint generated always as identity constraint tags_pkey primary key,
  account_id bigint not null constraint tags_account_id_fkey references accounts on delete cascade,
  board_id bigint not null constraint tags_board_id_fkey references boards on delete cascade,
  name text not null,
  color text not null,
  constraint tags_name_check check (char_length(name) between 1 and 40),
  constraint tags_color_check check (color ~ '^#[0-9a-f]{6}$')
);

create unique index tags_board_id_name_key on tags (board_id, lower(name));
create index tags_account_id_idx on tags (account_id);

create table ideas (
  id bigint generated always as identity constraint ideas_pkey primary key,
  account_id bigint not null constraint ideas_account_id_fkey references accounts on delete cascade,
  board_id bigint not null constraint ideas_board_id_fkey references boards on delete cascade,
  author_id bigint not null constraint ideas_author_id_fkey references users,
  status_id bigint not null,
  title text not null,
  body text not null,
  moderation_state text not null,
  rejection_reason text,
  up_count integer not null default 0,
  down_count integer not null default 0,
  score integer not null generated always as (up_count - down_count) stored,
  comment_count integer not null default 0,
  merged_into_id bigint constraint ideas_merged_into_id_fkey references ideas on delete cascade,
  title_words tsvector not null generated always as (to_tsvector('idea_search', normalize(title, NFKC))) stored,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint ideas_status_of_board_fkey foreign key (board_id, status_id) references statuses (board_id, id),
  constraint ideas_title_check check (char_length(title) between 1 and 200),
  constraint ideas_body_check check (char_length(body) between 1 and 10000),
  constraint ideas_moderation_state_check check (moderation_state in ('pending', 'published', 'rejected')),
  constraint ideas_up_count_check check (up_count >= 0),
  constraint ideas_down_count_check check (down_count >= 0),
  constraint ideas_comment_count_check check (comment_count >= 0),
  constraint ideas_merged_into_other_check check (merged_into_id <> id)
)
-- Every vote rewrites its idea's row: room on the page keeps the new version near the old one.
with (fillfactor = 85);

-- A list reads the first rows of each status that it shows and merges them: newest first, or highest score first.
create index ideas_newest_idx on ideas (status_id, created_at desc, id desc)
  where moderation_state = 'published' and merged_into_id is null;
create index ideas_top_idx on ideas (status_id, score desc, id desc)
  where moderation_state = 'published' and merged_into_id is null;
-- The same list with a search. A vote makes a new version of its idea, which first goes into the index's list of
-- pending entries, and every search reads that list to its end: with the default of 4 MB, twelve thousand votes took a
-- search from half a millisecond to 27. Emptying it more often costs a fifth of a vote.
create index ideas_search_idx on ideas using gin (status_id, title_words) with (gin_pending_list_limit = 128)
  where moderation_state = 'published' and merged_into_id is null;
-- The approval queue.
create index ideas_pending_idx on ideas (status_id, created_at desc, id desc) where moderation_state = 'pending';
-- What was merged into an idea.
create index ideas_merged_into_id_idx on ideas (merged_into_id) where merged_into_id is not null;
-- Removing a board or an account, and erasing an author.
create index ideas_board_id_idx on ideas (board_id);
create index ideas_account_id_idx on ideas (account_id);
create index ideas_author_id_idx on ideas (author_id);

create table idea_tags (
  idea_id bigint not null constraint idea_tags_idea_id_fkey references ideas on delete cascade,
  tag_id bigint not null constraint idea_tags_tag_id_fkey references tags on delete cascade,
  account_id bigint not null,
  constraint idea_tags_pkey primary key (idea_id, tag_id)
);

create index idea_tags_tag_id_idx on idea_tags (tag_id);

-- The history of merges; the ones in force have no unmerged_at.
create table merges (
  id bigint generated always as identity constraint merges_pkey primary key,
  account_id bigint not null,
  source_id bigint not null constraint merges_source_id_fkey references ideas on delete cascade,
  target_id bigint not null constraint merges_target_id_fkey references ideas on delete cascade,
  merged_at timestamptz(3) not null default now(),
  unmerged_at timestamptz(3),
  constraint merges_not_self_check check (source_id <> target_id)
);

-- An idea is merged into one other at most.
create unique index merges_source_id_key on merges (source_id) where unmerged_at is null;
create index merges_source_id_idx on merges (source_id);
create index merges_target_id_idx on merges (target_id);

-- One row for each voter of an idea. carried_from_id is null for a vote cast on this idea, and names the merged idea
-- for a vote that merging brought along. value 0 is a vote withdrawn from an idea into which others are merged: it
-- keeps theirs from coming back.
create table votes (
  idea_id bigint not null constraint votes_idea_id_fkey references ideas on delete cascade,
  voter_id bigint not null constraint votes_voter_id_fkey references voters on delete cascade,
  account_id bigint not null,
  value smallint not null,
  carried_from_id bigint,
  created_at timestamptz(3) not null default now(),
  constraint votes_pkey primary key (idea_id, voter_id),
  constraint votes_value_check check (value in (-1, 0, 1))
);

-- Removing a voter.
create index votes_voter_id_idx on votes (voter_id);

create table comments (
  id bigint generated always as identity constraint comments_pkey primary key,
  account_id bigint not null,
  idea_id bigint not null constraint comments_idea_id_fkey references ideas on delete cascade,
  author_id bigint not null constraint comments_author_id_fkey references users,
  body text not null,
  created_at timestamptz(3) not null default now(),
  constraint comments_body_check check (char_length(body) between 1 and 500)
);

-- The comments of an idea, oldest first, and the last one for the rule against two in a row.
create index comments_idea_id_id_idx on comments (idea_id, id);
create index comments_author_id_idx on comments (author_id);

create table followers (
  idea_id bigint not null constraint followers_idea_id_fkey references ideas on delete cascade,
  user_id bigint not null constraint followers_user_id_fkey references users on delete cascade,
  account_id bigint not null,
  created_at timestamptz(3) not null default now(),
  constraint followers_pkey primary key (idea_id, user_id)
);

create index followers_user_id_idx on followers (user_id);

create table api_tokens (
  id bigint generated always as identity constraint api_tokens_pkey primary key,
  account_id bigint not null constraint api_tokens_account_id_fkey references accounts on delete cascade,
  issuer_id bigint not null constraint api_tokens_issuer_id_fkey references users,
  voter_id bigint not null constraint api_tokens_voter_id_fkey references voters on delete cascade,
  kind text not null default 'api',
  name text not null,
  secret_hash bytea not null,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  -- Two tokens are two voters.
  constraint api_tokens_voter_id_key unique (voter_id),
  constraint api_tokens_kind_check check (kind in ('api', 'oauth')),
  constraint api_tokens_name_check check (char_length(name) between 1 and 100),
  constraint api_tokens_secret_hash_check check (octet_length(secret_hash) = 32)
);

create index api_tokens_account_id_idx on api_tokens (account_id);
create index api_tokens_issuer_id_idx on api_tokens (issuer_id);

create table api_token_boards (
  token_id bigint not null constraint api_token_boards_token_id_fkey references api_tokens on delete cascade,
  board_id bigint not null constraint api_token_boards_board_id_fkey references boards on delete cascade,
  level text not null,
  constraint api_token_boards_pkey primary key (token_id, board_id),
  constraint api_token_boards_level_check check (level in ('read', 'write', 'moderate'))
);

create index api_token_boards_board_id_idx on api_token_boards (board_id);

-- Counters of fixed windows, under keys of the form <bucket>:<identity>. Unlogged: a crash of PostgreSQL may forget
-- them, which costs nothing but a fresh window, and the limiter would otherwise cost as much as the request.
create unlogged table rate_limits (
  key text not null constraint rate_limits_pkey primary key,
  window_started_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  count integer not null
)
with (fillfactor = 50);

-- Answers kept for the replay of a write that was sent twice.
create table idempotency_keys (
  token_id bigint not null constraint idempotency_keys_token_id_fkey references api_tokens on delete cascade,
  path text not null,
  key text not null,
  fingerprint bytea not null,
  status integer not null,
  body text not null,
  expires_at timestamptz(3) not null,
  constraint idempotency_keys_pkey primary key (token_id, path, key)
);

-- The clean-up of what has expired.
create index idempotency_keys_expires_at_idx on idempotency_keys (expires_at);

-- When each periodic job last ran, for the readiness probe.
create table heartbeats (
  name text not null constraint heartbeats_pkey primary key,
  recorded_at timestamptz(3) not null
);

-- Each lexeme as a prefix, all of them required. No lexeme at all matches nothing.
create function prefix_query(lexemes text[]) returns tsquery
language sql immutable strict parallel safe
return (
  select coalesce(
    string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':*', ' & '),
    ''
  )::tsquery
  from unnest(lexemes) lexeme
);

-- The search of the list: every word of q must begin a word of the title.
create function words_query(q text) returns tsquery
language sql immutable strict parallel safe
return prefix_query(tsvector_to_array(to_tsvector('idea_search', normalize(q, NFKC))));

-- The words of the search that are looked up in its index: those of three characters or more, else the longest one.
-- One or two letters begin a good part of all words: to look them up too, beside a rare word, took seventy times as
-- long as the rare word alone. What is found must still match words_query.
create function index_words_query(q text) returns tsquery
language sql immutable strict parallel safe
return prefix_query(array(
  select lexeme
  from (
    select lexeme, row_number() over (order by char_length(lexeme) desc, lexeme) as place
    from unnest(tsvector_to_array(to_tsvector('idea_search', normalize(q, NFKC)))) lexeme
  ) words
  where char_length(lexeme) >= 3 or place = 1
));

-- Carries the votes of the ideas merged into an idea to it, anew, and counts; then the same for the idea into which
-- that one is merged, and so on. One vote per voter: the vote on the idea itself wins, then the idea that was merged
-- first. The caller has locked the idea and all that follow.
create function carry_votes(p_idea_id bigint) returns void
language plpgsql
as $$
declare
  v_idea_id bigint := p_idea_id;
begin
  while v_idea_id is not null loop
    delete from votes v where v.idea_id = v_idea_id and v.carried_from_id is not null;
    -- A withdrawn vote has nothing left to keep away once nothing is merged into the idea.
    delete from votes v
     where v.idea_id = v_idea_id and v.value = 0
       and not exists (select from ideas i where i.merged_into_id = v_idea_id);

    insert into votes (idea_id, voter_id, account_id, value, carried_from_id, created_at)
    select distinct on (v.voter_id) v_idea_id, v.voter_id, v.account_id, v.value, v.idea_id, v.created_at
      from merges m
      join votes v on v.idea_id = m.source_id and v.value <> 0
     where m.target_id = v_idea_id and m.unmerged_at is null
     order by v.voter_id, m.id
    on conflict (idea_id, voter_id) do nothing;

    update ideas i
       set up_count = tally.up_count, down_count = tally.down_count
      from (
        select count(*) filter (where v.value = 1) as up_count, count(*) filter (where v.value = -1) as down_count
          from votes v where v.idea_id = v_idea_id
      ) tally
     where i.id = v_idea_id
    returning i.merged_into_id into v_idea_id;
  end loop;
end
$$;

-- Undoes the merge of an idea into another, both locked, and counts the votes of all that its votes were carried to.
create function end_merge(p_idea_id bigint, p_target_id bigint, p_now timestamptz) returns void
language plpgsql
as $$
begin
  update merges set unmerged_at = p_now where source_id = p_idea_id and unmerged_at is null;
  update ideas set merged_into_id = null, updated_at = p_now where id = p_idea_id;
  perform carry_votes(p_target_id);
end
$$;
