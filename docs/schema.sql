-- The whole schema, for reading. The migrations create it, and nothing runs this file. Written by npm run schema.
-- server/database/table-kinds.ts explains the kinds of tables.

-- extensions

CREATE EXTENSION btree_gin;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION unaccent;

-- text search

CREATE TEXT SEARCH CONFIGURATION idea_search (PARSER = "default");
ALTER TEXT SEARCH CONFIGURATION idea_search ADD MAPPING FOR email, file, float, host, int, sfloat, uint, url, url_path, version
  WITH simple;
ALTER TEXT SEARCH CONFIGURATION idea_search ADD MAPPING FOR asciihword, asciiword, hword, hword_asciipart, hword_numpart, hword_part, numhword, numword, word
  WITH unaccent, simple;

-- table accounts (tenant)

CREATE TABLE accounts (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  plan text DEFAULT 'community'::text NOT NULL,
  deletion_scheduled_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  erasure_began_at timestamp(3) with time zone,
  join_rule text DEFAULT 'invited'::text NOT NULL,
  join_domains text[] DEFAULT '{}'::text[] NOT NULL,
  requires_second_factor boolean DEFAULT false NOT NULL,
  requires_provider boolean DEFAULT false NOT NULL,
  embedding_origins text[] DEFAULT '{}'::text[] NOT NULL,
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_slug_key UNIQUE (slug),
  CONSTRAINT accounts_embedding_origins_check CHECK (cardinality(embedding_origins) <= 20),
  CONSTRAINT accounts_erasure_check CHECK (erasure_began_at IS NULL OR deletion_scheduled_at IS NOT NULL),
  CONSTRAINT accounts_join_domains_check CHECK (cardinality(join_domains) <= 20 AND (join_rule = 'domains'::text) = (cardinality(join_domains) > 0)),
  CONSTRAINT accounts_join_rule_check CHECK (join_rule = ANY (ARRAY['invited'::text, 'domains'::text, 'everybody'::text])),
  CONSTRAINT accounts_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 100),
  CONSTRAINT accounts_slug_check CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)
);
CREATE INDEX accounts_deletion_scheduled_at_idx ON accounts USING btree (deletion_scheduled_at) WHERE deletion_scheduled_at IS NOT NULL;
CREATE INDEX accounts_name_beginning_idx ON accounts USING btree (lower(name) text_pattern_ops);
CREATE INDEX accounts_slug_beginning_idx ON accounts USING btree (slug text_pattern_ops);

-- function set_canonical_email()

CREATE FUNCTION set_canonical_email()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'INSERT' then
    if new.canonical_email is not null then
      return new;
    end if;
  elsif new.email is not distinct from old.email or new.canonical_email is distinct from old.canonical_email then
    return new;
  end if;
  new.canonical_email := case
    when octet_length(new.email) = char_length(new.email) and char_length(new.email) <= 254
    then regexp_replace(lower(new.email collate "C"), '\.+$', '')
  end;
  return new;
end
$function$;

-- table users (global)

CREATE TABLE users (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  email text,
  name text NOT NULL,
  avatar_url text,
  notification_email text,
  is_operator boolean DEFAULT false NOT NULL,
  is_placeholder boolean DEFAULT false NOT NULL,
  deletion_requested_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  erasure_began_at timestamp(3) with time zone,
  canonical_email text,
  confirmed_email text,
  language text,
  wants_mentions boolean DEFAULT true NOT NULL,
  mail_frequency text DEFAULT 'immediately'::text NOT NULL,
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_email_check CHECK ((email IS NULL) = is_placeholder),
  CONSTRAINT users_erasure_check CHECK (erasure_began_at IS NULL OR deletion_requested_at IS NOT NULL AND NOT is_placeholder),
  CONSTRAINT users_mail_frequency_check CHECK (mail_frequency = ANY (ARRAY['immediately'::text, 'daily'::text, 'weekly'::text])),
  CONSTRAINT users_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 100)
);
CREATE UNIQUE INDEX users_canonical_email_key ON users USING btree (canonical_email);
CREATE INDEX users_deletion_requested_at_idx ON users USING btree (deletion_requested_at) WHERE deletion_requested_at IS NOT NULL;
CREATE INDEX users_email_beginning_idx ON users USING btree (lower(email) text_pattern_ops);
CREATE UNIQUE INDEX users_email_key ON users USING btree (lower(replace(email, 'İ'::text, ''::text)));
CREATE INDEX users_mail_frequency_id_idx ON users USING btree (mail_frequency, id) WHERE mail_frequency <> 'immediately'::text;
CREATE INDEX users_name_beginning_idx ON users USING btree (lower(name) text_pattern_ops);
CREATE UNIQUE INDEX users_placeholder_key ON users USING btree (is_placeholder) WHERE is_placeholder;
CREATE INDEX users_without_canonical_email_idx ON users USING btree (id) WHERE canonical_email IS NULL AND NOT is_placeholder;
CREATE TRIGGER users_set_canonical_email BEFORE INSERT OR UPDATE OF email ON users FOR EACH ROW EXECUTE FUNCTION set_canonical_email();

-- table voters (tenant)

CREATE TABLE voters (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint,
  CONSTRAINT voters_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT voters_account_id_user_id_key UNIQUE (account_id, user_id),
  CONSTRAINT voters_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT voters_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX voters_user_id_idx ON voters USING btree (user_id);

-- table api_tokens (tenant)

CREATE TABLE api_tokens (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  issuer_id bigint NOT NULL,
  voter_id bigint NOT NULL,
  kind text DEFAULT 'api'::text NOT NULL,
  name text NOT NULL,
  secret_hash bytea NOT NULL,
  expires_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  capabilities text[] DEFAULT '{}'::text[] NOT NULL,
  previous_secret_hash bytea,
  previous_secret_expires_at timestamp(3) with time zone,
  read_limit integer,
  write_limit integer,
  allowed_networks cidr[] DEFAULT '{}'::cidr[] NOT NULL,
  expiry_notice_days integer,
  last_used_network cidr,
  last_used_client text,
  CONSTRAINT api_tokens_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT api_tokens_id_key UNIQUE (id),
  CONSTRAINT api_tokens_voter_id_key UNIQUE (account_id, voter_id),
  CONSTRAINT api_tokens_allowed_networks_check CHECK (cardinality(allowed_networks) <= 20),
  CONSTRAINT api_tokens_capabilities_check CHECK (capabilities <@ ARRAY['manage_webhooks'::text]),
  CONSTRAINT api_tokens_kind_check CHECK (kind = ANY (ARRAY['api'::text, 'oauth'::text])),
  CONSTRAINT api_tokens_last_used_client_check CHECK (char_length(last_used_client) <= 50),
  CONSTRAINT api_tokens_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 100),
  CONSTRAINT api_tokens_previous_secret_check CHECK (octet_length(previous_secret_hash) = 32 AND (previous_secret_hash IS NULL) = (previous_secret_expires_at IS NULL)),
  CONSTRAINT api_tokens_read_limit_check CHECK (read_limit > 0),
  CONSTRAINT api_tokens_secret_hash_check CHECK (octet_length(secret_hash) = 32),
  CONSTRAINT api_tokens_write_limit_check CHECK (write_limit > 0),
  CONSTRAINT api_tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT api_tokens_issuer_id_fkey FOREIGN KEY (issuer_id) REFERENCES users(id),
  CONSTRAINT api_tokens_voter_id_fkey FOREIGN KEY (account_id, voter_id) REFERENCES voters(account_id, id) ON DELETE CASCADE
);
CREATE INDEX api_tokens_expires_at_idx ON api_tokens USING btree (expires_at) WHERE kind = 'api'::text AND revoked_at IS NULL;
CREATE INDEX api_tokens_issuer_id_idx ON api_tokens USING btree (issuer_id);
CREATE INDEX api_tokens_last_used_network_idx ON api_tokens USING btree (last_used_at) WHERE last_used_network IS NOT NULL;

-- table boards (tenant)

CREATE TABLE boards (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  is_frozen boolean DEFAULT false NOT NULL,
  pre_moderation boolean DEFAULT false NOT NULL,
  submissions_open_at timestamp(3) with time zone,
  submissions_close_at timestamp(3) with time zone,
  voting_open_at timestamp(3) with time zone,
  voting_close_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  is_public boolean DEFAULT false NOT NULL,
  language text DEFAULT 'simple'::text NOT NULL,
  CONSTRAINT boards_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT boards_account_id_slug_key UNIQUE (account_id, slug),
  CONSTRAINT boards_language_check CHECK (language = ANY (ARRAY['simple'::text, 'arabic'::text, 'armenian'::text, 'basque'::text, 'catalan'::text, 'danish'::text, 'dutch'::text, 'english'::text, 'finnish'::text, 'french'::text, 'german'::text, 'greek'::text, 'hindi'::text, 'hungarian'::text, 'indonesian'::text, 'irish'::text, 'italian'::text, 'lithuanian'::text, 'nepali'::text, 'norwegian'::text, 'portuguese'::text, 'romanian'::text, 'russian'::text, 'serbian'::text, 'spanish'::text, 'swedish'::text, 'tamil'::text, 'turkish'::text, 'yiddish'::text])),
  CONSTRAINT boards_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 100),
  CONSTRAINT boards_slug_check CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text),
  CONSTRAINT boards_submissions_check CHECK (submissions_open_at < submissions_close_at),
  CONSTRAINT boards_voting_check CHECK (voting_open_at < voting_close_at),
  CONSTRAINT boards_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX boards_id_idx ON boards USING btree (id);
CREATE UNIQUE INDEX boards_public_slug_key ON boards USING btree (slug) WHERE is_public;

-- function set_account_of_token()

CREATE FUNCTION set_account_of_token()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if new.account_id is null then
    select t.account_id into new.account_id from api_tokens t where t.id = new.token_id;
  end if;
  return new;
end
$function$;

-- table api_token_boards (tenant)

CREATE TABLE api_token_boards (
  token_id bigint NOT NULL,
  board_id bigint NOT NULL,
  level text NOT NULL,
  account_id bigint NOT NULL,
  CONSTRAINT api_token_boards_pkey PRIMARY KEY (account_id, token_id, board_id),
  CONSTRAINT api_token_boards_level_check CHECK (level = ANY (ARRAY['read'::text, 'write'::text, 'moderate'::text])),
  CONSTRAINT api_token_boards_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE,
  CONSTRAINT api_token_boards_token_id_fkey FOREIGN KEY (account_id, token_id) REFERENCES api_tokens(account_id, id) ON DELETE CASCADE
);
CREATE INDEX api_token_boards_board_id_idx ON api_token_boards USING btree (account_id, board_id);
CREATE INDEX api_token_boards_token_id_idx ON api_token_boards USING btree (token_id);
CREATE TRIGGER api_token_boards_set_account BEFORE INSERT ON api_token_boards FOR EACH ROW EXECUTE FUNCTION set_account_of_token();

-- table chat_channels (tenant)

CREATE TABLE chat_channels (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  board_id bigint NOT NULL,
  kind text NOT NULL,
  name text DEFAULT ''::text NOT NULL,
  url bytea NOT NULL,
  event_types text[] DEFAULT '{}'::text[] NOT NULL,
  disabled_at timestamp(3) with time zone,
  disabled_reason text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT chat_channels_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT chat_channels_disabled_check CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
  CONSTRAINT chat_channels_kind_check CHECK (kind = ANY (ARRAY['slack'::text, 'discord'::text, 'mattermost'::text, 'teams'::text])),
  CONSTRAINT chat_channels_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT chat_channels_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE
);
CREATE INDEX chat_channels_board_id_idx ON chat_channels USING btree (account_id, board_id);
CREATE INDEX chat_channels_id_idx ON chat_channels USING btree (id);

-- function advance_updated_at()

CREATE FUNCTION advance_updated_at()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.updated_at := old.updated_at + interval '1 millisecond';
  return new;
end
$function$;

-- function idea_trend(integer,timestamp with time zone)

CREATE FUNCTION idea_trend(p_score integer, p_created_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((EXTRACT(epoch FROM (p_created_at - '2026-01-01 00:00:00+00'::timestamp with time zone)))::double precision + ((((604800)::double precision * sign((p_score)::double precision)) * ln((GREATEST(abs(p_score), 1))::double precision)) / ln((2)::double precision))))::bigint;

-- function keep_idea_terms()

CREATE FUNCTION keep_idea_terms()
 RETURNS trigger
 LANGUAGE plpgsql
 SET gin_pending_list_limit TO '64kB'
AS $function$
begin
  -- An idea that is not published has no terms.
  insert into idea_terms (account_id, idea_id, terms)
  values (new.account_id, new.id, case when new.moderation_state = 'published'
    then similar_terms(new.board_id, new.title_words, new.body) else '' end)
  on conflict (account_id, idea_id) do update set terms = excluded.terms;
  return null;
end
$function$;

-- function keep_title_words()

CREATE FUNCTION keep_title_words()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.title_words := search_words(new.title);
  return new;
end
$function$;

-- table statuses (tenant)

CREATE TABLE statuses (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  board_id bigint NOT NULL,
  key text NOT NULL,
  category text NOT NULL,
  label text NOT NULL,
  is_hidden boolean DEFAULT false NOT NULL,
  allow_votes boolean DEFAULT true NOT NULL,
  allow_comments boolean DEFAULT true NOT NULL,
  "position" integer NOT NULL,
  CONSTRAINT statuses_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT statuses_board_id_id_key UNIQUE (account_id, board_id, id),
  CONSTRAINT statuses_board_id_key_key UNIQUE (account_id, board_id, key),
  CONSTRAINT statuses_category_check CHECK (category = ANY (ARRAY['inbox'::text, 'planned'::text, 'active'::text, 'completed'::text, 'declined'::text, 'archived'::text])),
  CONSTRAINT statuses_key_check CHECK (key ~ '^[a-z0-9][a-z0-9_-]{0,49}$'::text),
  CONSTRAINT statuses_label_check CHECK (char_length(label) >= 1 AND char_length(label) <= 60),
  CONSTRAINT statuses_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT statuses_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE
);

-- table ideas (tenant)

CREATE TABLE ideas (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  board_id bigint NOT NULL,
  author_id bigint NOT NULL,
  status_id bigint NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  moderation_state text NOT NULL,
  rejection_reason text,
  up_count integer DEFAULT 0 NOT NULL,
  down_count integer DEFAULT 0 NOT NULL,
  score integer GENERATED ALWAYS AS ((up_count - down_count)) STORED NOT NULL,
  comment_count integer DEFAULT 0 NOT NULL,
  merged_into_id bigint,
  title_words tsvector DEFAULT ''::tsvector NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT ideas_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT ideas_body_check CHECK (char_length(body) >= 1 AND char_length(body) <= 10000),
  CONSTRAINT ideas_comment_count_check CHECK (comment_count >= 0),
  CONSTRAINT ideas_down_count_check CHECK (down_count >= 0),
  CONSTRAINT ideas_merged_into_other_check CHECK (merged_into_id <> id),
  CONSTRAINT ideas_moderation_state_check CHECK (moderation_state = ANY (ARRAY['pending'::text, 'published'::text, 'rejected'::text, 'deleted'::text])),
  CONSTRAINT ideas_title_check CHECK (char_length(title) >= 1 AND char_length(title) <= 200),
  CONSTRAINT ideas_up_count_check CHECK (up_count >= 0),
  CONSTRAINT ideas_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT ideas_author_id_fkey FOREIGN KEY (author_id) REFERENCES users(id),
  CONSTRAINT ideas_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE,
  CONSTRAINT ideas_merged_into_id_fkey FOREIGN KEY (account_id, merged_into_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE,
  CONSTRAINT ideas_status_of_board_fkey FOREIGN KEY (account_id, board_id, status_id) REFERENCES statuses(account_id, board_id, id)
) WITH (fillfactor=85);
CREATE INDEX ideas_author_id_board_id_id_idx ON ideas USING btree (author_id, board_id, id);
CREATE INDEX ideas_author_newest_idx ON ideas USING btree (status_id, author_id, created_at DESC, id DESC) INCLUDE (account_id) WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE INDEX ideas_board_id_status_id_idx ON ideas USING btree (account_id, board_id, status_id);
CREATE INDEX ideas_comments_idx ON ideas USING btree (status_id, comment_count DESC, id DESC) INCLUDE (account_id) WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE INDEX ideas_deleted_idx ON ideas USING btree (updated_at) WHERE moderation_state = 'deleted'::text;
CREATE INDEX ideas_merged_into_id_idx ON ideas USING btree (account_id, merged_into_id) WHERE merged_into_id IS NOT NULL;
CREATE INDEX ideas_newest_idx ON ideas USING btree (status_id, created_at DESC, id DESC) INCLUDE (account_id) WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE INDEX ideas_pending_idx ON ideas USING btree (status_id, created_at DESC, id DESC) INCLUDE (account_id) WHERE moderation_state = 'pending'::text;
CREATE INDEX ideas_rejected_idx ON ideas USING btree (account_id, updated_at DESC, id DESC) WHERE moderation_state = 'rejected'::text;
CREATE INDEX ideas_search_idx ON ideas USING gin (status_id, title_words) WITH (gin_pending_list_limit='128') WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE INDEX ideas_top_idx ON ideas USING btree (status_id, score DESC, id DESC) INCLUDE (account_id) WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE INDEX ideas_trending_idx ON ideas USING btree (status_id, idea_trend(score, created_at) DESC, id DESC) INCLUDE (account_id, score, created_at) WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE INDEX ideas_updated_idx ON ideas USING btree (status_id, updated_at DESC, id DESC) INCLUDE (account_id) WHERE moderation_state = 'published'::text AND merged_into_id IS NULL;
CREATE TRIGGER ideas_advance_updated_at BEFORE UPDATE OF updated_at ON ideas FOR EACH ROW WHEN (new.updated_at <= old.updated_at) EXECUTE FUNCTION advance_updated_at();
CREATE TRIGGER ideas_keep_terms AFTER INSERT OR UPDATE OF title, body, moderation_state ON ideas FOR EACH ROW WHEN (current_setting('idea_board.keeps_terms'::text, true) IS DISTINCT FROM 'off'::text) EXECUTE FUNCTION keep_idea_terms();
CREATE TRIGGER ideas_keep_title_words BEFORE INSERT OR UPDATE OF title ON ideas FOR EACH ROW EXECUTE FUNCTION keep_title_words();

-- table comments (tenant)

CREATE TABLE comments (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  idea_id bigint NOT NULL,
  author_id bigint NOT NULL,
  body text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  edited_at timestamp(3) with time zone,
  is_official boolean DEFAULT false NOT NULL,
  CONSTRAINT comments_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT comments_body_check CHECK (char_length(body) >= 1 AND char_length(body) <= 500),
  CONSTRAINT comments_author_id_fkey FOREIGN KEY (author_id) REFERENCES users(id),
  CONSTRAINT comments_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE
);
CREATE INDEX comments_author_id_id_idx ON comments USING btree (author_id, id);
CREATE INDEX comments_idea_id_id_idx ON comments USING btree (account_id, idea_id, id);
CREATE INDEX comments_official_idea_id_id_idx ON comments USING btree (account_id, idea_id, id) WHERE is_official;

-- table embedding_secrets (tenant)

CREATE TABLE embedding_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  secret bytea NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_used_at timestamp(3) with time zone,
  CONSTRAINT embedding_secrets_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT embedding_secrets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);

-- table events (tenant)

CREATE TABLE events (
  id uuid DEFAULT gen_random_uuid() NOT NULL,
  account_id bigint NOT NULL,
  board_id bigint,
  idea_id bigint,
  actor_id bigint,
  type text NOT NULL,
  body json NOT NULL,
  occurred_at timestamp(3) with time zone NOT NULL,
  told_at timestamp(3) with time zone,
  data jsonb,
  waiting_extensions text[] DEFAULT '{}'::text[] NOT NULL,
  CONSTRAINT events_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT events_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT events_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES users(id) ON DELETE SET NULL,
  CONSTRAINT events_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE,
  CONSTRAINT events_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE
);
CREATE INDEX events_actor_id_idx ON events USING btree (actor_id);
CREATE INDEX events_board_id_idx ON events USING btree (account_id, board_id);
CREATE INDEX events_id_idx ON events USING btree (id);
CREATE INDEX events_idea_id_idx ON events USING btree (account_id, idea_id);
CREATE INDEX events_occurred_at_idx ON events USING btree (occurred_at);

-- table event_positions (tenant)

CREATE TABLE event_positions (
  account_id bigint NOT NULL,
  event_id uuid NOT NULL,
  board_id bigint NOT NULL,
  type text NOT NULL,
  is_pending boolean NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  "position" bigint,
  CONSTRAINT event_positions_pkey PRIMARY KEY (account_id, event_id),
  CONSTRAINT event_positions_event_id_fkey FOREIGN KEY (account_id, event_id) REFERENCES events(account_id, id) ON DELETE CASCADE
);
CREATE INDEX event_positions_placed_idx ON event_positions USING btree (account_id, board_id, type, "position") WHERE "position" IS NOT NULL;
CREATE INDEX event_positions_unplaced_idx ON event_positions USING btree (account_id, board_id, number) WHERE "position" IS NULL;

-- table event_waits (tenant)

CREATE UNLOGGED TABLE event_waits (
  account_id bigint NOT NULL,
  token_id bigint NOT NULL,
  slot smallint NOT NULL,
  board_id bigint NOT NULL,
  server_id uuid NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT event_waits_pkey PRIMARY KEY (account_id, token_id, slot),
  CONSTRAINT event_waits_token_id_fkey FOREIGN KEY (account_id, token_id) REFERENCES api_tokens(account_id, id) ON DELETE CASCADE
);
CREATE INDEX event_waits_board_id_idx ON event_waits USING btree (account_id, board_id);
CREATE INDEX event_waits_server_id_idx ON event_waits USING btree (server_id);

-- table extension_subscriptions (local)

CREATE TABLE extension_subscriptions (
  event_type text NOT NULL,
  extension text NOT NULL,
  renewed_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT extension_subscriptions_pkey PRIMARY KEY (event_type, extension)
);

-- table external_ids (tenant)

CREATE TABLE external_ids (
  account_id bigint NOT NULL,
  kind text NOT NULL,
  external_id text NOT NULL,
  row_id bigint,
  user_id bigint,
  CONSTRAINT external_ids_pkey PRIMARY KEY (account_id, kind, external_id),
  CONSTRAINT external_ids_external_id_check CHECK (char_length(external_id) >= 1 AND char_length(external_id) <= 200),
  CONSTRAINT external_ids_kind_check CHECK (kind = ANY (ARRAY['person'::text, 'board'::text, 'status'::text, 'tag'::text, 'idea'::text, 'comment'::text, 'note'::text, 'voter'::text, 'merge'::text])),
  CONSTRAINT external_ids_row_check CHECK ((kind = 'person'::text) = (user_id IS NOT NULL) AND (kind = 'person'::text) = (row_id IS NULL)),
  CONSTRAINT external_ids_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT external_ids_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX external_ids_row_id_idx ON external_ids USING btree (account_id, kind, row_id) WHERE row_id IS NOT NULL;
CREATE INDEX external_ids_user_id_idx ON external_ids USING btree (user_id, account_id) WHERE user_id IS NOT NULL;

-- table followers (tenant)

CREATE TABLE followers (
  idea_id bigint NOT NULL,
  user_id bigint NOT NULL,
  account_id bigint NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT followers_pkey PRIMARY KEY (account_id, idea_id, user_id),
  CONSTRAINT followers_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE,
  CONSTRAINT followers_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX followers_idea_id_idx ON followers USING btree (idea_id);
CREATE INDEX followers_user_id_idea_id_idx ON followers USING btree (user_id, idea_id);

-- table heartbeats (local)

CREATE TABLE heartbeats (
  name text NOT NULL,
  recorded_at timestamp(3) with time zone NOT NULL,
  address text,
  CONSTRAINT heartbeats_pkey PRIMARY KEY (name)
);

-- table idea_notes (tenant)

CREATE TABLE idea_notes (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  idea_id bigint NOT NULL,
  author_id bigint NOT NULL,
  body text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  edited_at timestamp(3) with time zone,
  CONSTRAINT idea_notes_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT idea_notes_body_check CHECK (char_length(body) >= 1 AND char_length(body) <= 2000),
  CONSTRAINT idea_notes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT idea_notes_author_id_fkey FOREIGN KEY (author_id) REFERENCES users(id),
  CONSTRAINT idea_notes_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE
);
CREATE INDEX idea_notes_author_id_id_idx ON idea_notes USING btree (author_id, id);
CREATE INDEX idea_notes_idea_id_id_idx ON idea_notes USING btree (account_id, idea_id, id);

-- table tags (tenant)

CREATE TABLE tags (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  board_id bigint NOT NULL,
  name text NOT NULL,
  color text NOT NULL,
  CONSTRAINT tags_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT tags_color_check CHECK (color ~ '^#[0-9a-f]{6}$'::text),
  CONSTRAINT tags_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 40),
  CONSTRAINT tags_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT tags_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX tags_board_id_name_key ON tags USING btree (account_id, board_id, lower(name));

-- table idea_tags (tenant)

CREATE TABLE idea_tags (
  idea_id bigint NOT NULL,
  tag_id bigint NOT NULL,
  account_id bigint NOT NULL,
  CONSTRAINT idea_tags_pkey PRIMARY KEY (account_id, idea_id, tag_id),
  CONSTRAINT idea_tags_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE,
  CONSTRAINT idea_tags_tag_id_fkey FOREIGN KEY (account_id, tag_id) REFERENCES tags(account_id, id) ON DELETE CASCADE
);
CREATE INDEX idea_tags_tag_id_idx ON idea_tags USING btree (account_id, tag_id);

-- table idea_terms (tenant)

CREATE TABLE idea_terms (
  account_id bigint NOT NULL,
  idea_id bigint NOT NULL,
  terms tsvector NOT NULL,
  CONSTRAINT idea_terms_pkey PRIMARY KEY (account_id, idea_id),
  CONSTRAINT idea_terms_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE
);
CREATE INDEX idea_terms_terms_idx ON idea_terms USING gin (terms);

-- table idempotency_keys (tenant)

CREATE TABLE idempotency_keys (
  token_id bigint NOT NULL,
  path text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  status integer NOT NULL,
  body text NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  account_id bigint NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, token_id, path, key),
  CONSTRAINT idempotency_keys_token_id_fkey FOREIGN KEY (account_id, token_id) REFERENCES api_tokens(account_id, id) ON DELETE CASCADE
);
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys USING btree (expires_at);
CREATE UNIQUE INDEX idempotency_keys_token_id_path_key_key ON idempotency_keys USING btree (token_id, path, key);
CREATE TRIGGER idempotency_keys_set_account BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION set_account_of_token();

-- table identity_providers (tenant)

CREATE TABLE identity_providers (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  key text NOT NULL,
  name text NOT NULL,
  issuer text NOT NULL,
  client_id text NOT NULL,
  client_secret bytea NOT NULL,
  admits_everybody boolean DEFAULT false NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT identity_providers_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT identity_providers_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 60),
  CONSTRAINT identity_providers_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX identity_providers_key_key ON identity_providers USING btree (key);

-- table identities (tenant)

CREATE TABLE identities (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  provider_id bigint,
  subject text NOT NULL,
  user_id bigint NOT NULL,
  address text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_used_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT identities_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT identities_subject_check CHECK (octet_length(subject) >= 1 AND octet_length(subject) <= 255),
  CONSTRAINT identities_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT identities_provider_id_fkey FOREIGN KEY (account_id, provider_id) REFERENCES identity_providers(account_id, id) ON DELETE CASCADE,
  CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX identities_provider_id_idx ON identities USING btree (account_id, provider_id);
CREATE UNIQUE INDEX identities_subject_key ON identities USING btree (account_id, subject, COALESCE(provider_id, 0::bigint));
CREATE INDEX identities_user_id_idx ON identities USING btree (user_id);

-- table invitations (tenant)

CREATE TABLE invitations (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  inviter_id bigint,
  token_hash bytea,
  delivery text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  canonical_email text,
  CONSTRAINT invitations_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT invitations_delivery_check CHECK (delivery = ANY (ARRAY['by_hand'::text, 'waiting'::text, 'mailed'::text, 'refused'::text])),
  CONSTRAINT invitations_expires_at_check CHECK (expires_at > created_at),
  CONSTRAINT invitations_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'moderator'::text, 'member'::text])),
  CONSTRAINT invitations_token_hash_check CHECK (octet_length(token_hash) = 32),
  CONSTRAINT invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT invitations_inviter_id_fkey FOREIGN KEY (inviter_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX invitations_account_id_id_idx ON invitations USING btree (account_id, id DESC);
CREATE UNIQUE INDEX invitations_canonical_email_account_id_key ON invitations USING btree (canonical_email, account_id);
CREATE UNIQUE INDEX invitations_email_account_id_key ON invitations USING btree (lower(email), account_id);
CREATE INDEX invitations_expires_at_idx ON invitations USING btree (expires_at);
CREATE INDEX invitations_inviter_id_idx ON invitations USING btree (inviter_id) WHERE inviter_id IS NOT NULL;
CREATE UNIQUE INDEX invitations_token_hash_key ON invitations USING btree (token_hash);
CREATE INDEX invitations_without_canonical_email_idx ON invitations USING btree (email) WHERE canonical_email IS NULL;
CREATE TRIGGER invitations_set_canonical_email BEFORE INSERT OR UPDATE OF email ON invitations FOR EACH ROW EXECUTE FUNCTION set_canonical_email();

-- function refuse_member_in_erasure()

CREATE FUNCTION refuse_member_in_erasure()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  v_began_at timestamptz;
begin
  select u.erasure_began_at into v_began_at from users u where u.id = new.user_id for key share;
  if v_began_at is not null then
    raise exception 'user % is being erased', new.user_id
      using errcode = 'foreign_key_violation', constraint = 'memberships_user_stays';
  end if;
  return new;
end
$function$;

-- table memberships (tenant)

CREATE TABLE memberships (
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  role text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT memberships_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT memberships_role_check CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'moderator'::text, 'member'::text])),
  CONSTRAINT memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX memberships_account_id_role_idx ON memberships USING btree (account_id, role, user_id);
CREATE INDEX memberships_user_id_idx ON memberships USING btree (user_id);
CREATE TRIGGER memberships_user_stays BEFORE INSERT OR UPDATE OF role ON memberships FOR EACH ROW EXECUTE FUNCTION refuse_member_in_erasure();

-- table mentions (tenant)

CREATE TABLE mentions (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  idea_id bigint NOT NULL,
  comment_id bigint,
  user_id bigint NOT NULL,
  name text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT mentions_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT mentions_idea_id_comment_id_user_id_key UNIQUE NULLS NOT DISTINCT (account_id, idea_id, comment_id, user_id),
  CONSTRAINT mentions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT mentions_comment_id_fkey FOREIGN KEY (account_id, comment_id) REFERENCES comments(account_id, id) ON DELETE CASCADE,
  CONSTRAINT mentions_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE,
  CONSTRAINT mentions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX mentions_comment_id_idx ON mentions USING btree (account_id, comment_id) WHERE comment_id IS NOT NULL;
CREATE INDEX mentions_user_id_id_idx ON mentions USING btree (user_id, id);

-- table merges (tenant)

CREATE TABLE merges (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  source_id bigint NOT NULL,
  target_id bigint NOT NULL,
  merged_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  unmerged_at timestamp(3) with time zone,
  CONSTRAINT merges_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT merges_not_self_check CHECK (source_id <> target_id),
  CONSTRAINT merges_source_id_fkey FOREIGN KEY (account_id, source_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE,
  CONSTRAINT merges_target_id_fkey FOREIGN KEY (account_id, target_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE
);
CREATE INDEX merges_source_id_idx ON merges USING btree (account_id, source_id);
CREATE UNIQUE INDEX merges_source_id_key ON merges USING btree (account_id, source_id) WHERE unmerged_at IS NULL;
CREATE INDEX merges_target_id_idx ON merges USING btree (account_id, target_id);

-- table webhook_endpoints (tenant)

CREATE TABLE webhook_endpoints (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  board_id bigint,
  url text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  event_types text[] DEFAULT '{}'::text[] NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_secret_expires_at timestamp(3) with time zone,
  failing_since timestamp(3) with time zone,
  probed_until timestamp(3) with time zone,
  disabled_at timestamp(3) with time zone,
  disabled_reason text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  token_id bigint,
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT webhook_endpoints_disabled_check CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
  CONSTRAINT webhook_endpoints_previous_check CHECK ((previous_secret IS NULL) = (previous_secret_expires_at IS NULL)),
  CONSTRAINT webhook_endpoints_url_check CHECK (char_length(url) >= 1 AND char_length(url) <= 2000),
  CONSTRAINT webhook_endpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT webhook_endpoints_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE,
  CONSTRAINT webhook_endpoints_token_id_fkey FOREIGN KEY (account_id, token_id) REFERENCES api_tokens(account_id, id) ON DELETE SET NULL (token_id)
);
CREATE INDEX webhook_endpoints_board_id_idx ON webhook_endpoints USING btree (account_id, board_id);
CREATE INDEX webhook_endpoints_id_idx ON webhook_endpoints USING btree (id);
CREATE INDEX webhook_endpoints_in_trouble_idx ON webhook_endpoints USING btree (account_id, id) WHERE failing_since IS NOT NULL OR disabled_at IS NOT NULL;
CREATE INDEX webhook_endpoints_token_id_idx ON webhook_endpoints USING btree (account_id, token_id);

-- table notifications (tenant)

CREATE TABLE notifications (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  event_id uuid,
  endpoint_id bigint,
  kind text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  read_at timestamp(3) with time zone,
  mailed_at timestamp(3) with time zone,
  CONSTRAINT notifications_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT notifications_account_id_event_id_user_id_key UNIQUE (account_id, event_id, user_id),
  CONSTRAINT notifications_event_id_user_id_key UNIQUE (event_id, user_id),
  CONSTRAINT notifications_subject_check CHECK (num_nonnulls(event_id, endpoint_id) = 1),
  CONSTRAINT notifications_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT notifications_endpoint_id_fkey FOREIGN KEY (account_id, endpoint_id) REFERENCES webhook_endpoints(account_id, id) ON DELETE CASCADE,
  CONSTRAINT notifications_event_id_fkey FOREIGN KEY (account_id, event_id) REFERENCES events(account_id, id) ON DELETE CASCADE,
  CONSTRAINT notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX notifications_endpoint_id_idx ON notifications USING btree (account_id, endpoint_id);
CREATE INDEX notifications_id_idx ON notifications USING btree (id);
CREATE INDEX notifications_user_id_id_idx ON notifications USING btree (user_id, id DESC);

-- table oauth_records (global)

CREATE TABLE oauth_records (
  model text NOT NULL,
  id_hash bytea NOT NULL,
  payload jsonb NOT NULL,
  user_id bigint,
  token_id bigint,
  grant_id text,
  uid text,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  consumed_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone,
  parent_hash bytea,
  account_id bigint,
  CONSTRAINT oauth_records_pkey PRIMARY KEY (model, id_hash),
  CONSTRAINT oauth_records_account_id_check CHECK ((account_id IS NULL) = (token_id IS NULL)),
  CONSTRAINT oauth_records_id_hash_check CHECK (octet_length(id_hash) = 32),
  CONSTRAINT oauth_records_payload_check CHECK (NOT payload ? 'jti'::text),
  CONSTRAINT oauth_records_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX oauth_records_expires_at_idx ON oauth_records USING btree (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX oauth_records_grant_id_idx ON oauth_records USING btree (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX oauth_records_token_id_idx ON oauth_records USING btree (token_id) WHERE token_id IS NOT NULL;
CREATE UNIQUE INDEX oauth_records_uid_key ON oauth_records USING btree (model, uid) WHERE uid IS NOT NULL;
CREATE INDEX oauth_records_user_id_idx ON oauth_records USING btree (user_id) WHERE user_id IS NOT NULL;
CREATE TRIGGER oauth_records_set_account BEFORE INSERT ON oauth_records FOR EACH ROW EXECUTE FUNCTION set_account_of_token();

-- table password_links (global)

CREATE TABLE password_links (
  token_hash bytea NOT NULL,
  user_id bigint NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT password_links_pkey PRIMARY KEY (token_hash),
  CONSTRAINT password_links_expires_at_check CHECK (expires_at > created_at),
  CONSTRAINT password_links_token_hash_check CHECK (octet_length(token_hash) = 32),
  CONSTRAINT password_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX password_links_expires_at_idx ON password_links USING btree (expires_at);
CREATE INDEX password_links_user_id_idx ON password_links USING btree (user_id);

-- table pictures (global)

CREATE TABLE pictures (
  user_id bigint NOT NULL,
  key text NOT NULL,
  content bytea NOT NULL,
  CONSTRAINT pictures_pkey PRIMARY KEY (user_id),
  CONSTRAINT pictures_key_key UNIQUE (key),
  CONSTRAINT pictures_content_check CHECK (octet_length(content) >= 1 AND octet_length(content) <= 65536),
  CONSTRAINT pictures_key_check CHECK (key ~ '^[A-Za-z0-9_-]{22}$'::text),
  CONSTRAINT pictures_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

-- table rate_limits (local)

CREATE UNLOGGED TABLE rate_limits (
  key text NOT NULL,
  window_started_at timestamp(3) with time zone NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  count integer NOT NULL,
  CONSTRAINT rate_limits_pkey PRIMARY KEY (key)
) WITH (fillfactor=50);

-- table second_factors (global)

CREATE TABLE second_factors (
  user_id bigint NOT NULL,
  secret bytea NOT NULL,
  last_step bigint NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT second_factors_pkey PRIMARY KEY (user_id),
  CONSTRAINT second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

-- table recovery_codes (global)

CREATE TABLE recovery_codes (
  user_id bigint NOT NULL,
  code_hash bytea NOT NULL,
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash),
  CONSTRAINT recovery_codes_code_hash_check CHECK (octet_length(code_hash) = 32),
  CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES second_factors(user_id) ON DELETE CASCADE
);

-- table schema_migrations (local)

CREATE TABLE schema_migrations (
  stream text NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (stream, name)
);

-- table sessions (global)

CREATE TABLE sessions (
  token_hash bytea NOT NULL,
  user_id bigint NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  last_seen_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  has_second_factor boolean DEFAULT false NOT NULL,
  account_id bigint,
  identity_id bigint,
  embedding_secret_id bigint,
  CONSTRAINT sessions_pkey PRIMARY KEY (token_hash),
  CONSTRAINT sessions_expires_at_check CHECK (expires_at > created_at),
  CONSTRAINT sessions_token_hash_check CHECK (octet_length(token_hash) = 32),
  CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
) WITH (fillfactor=85);
CREATE INDEX sessions_account_id_idx ON sessions USING btree (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX sessions_expires_at_idx ON sessions USING btree (expires_at);
CREATE INDEX sessions_user_id_idx ON sessions USING btree (user_id);

-- table sign_in_challenges (global)

CREATE TABLE sign_in_challenges (
  token_hash bytea NOT NULL,
  user_id bigint NOT NULL,
  password_set_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  account_id bigint,
  identity_id bigint,
  CONSTRAINT sign_in_challenges_pkey PRIMARY KEY (token_hash),
  CONSTRAINT sign_in_challenges_expires_at_check CHECK (expires_at > created_at),
  CONSTRAINT sign_in_challenges_token_hash_check CHECK (octet_length(token_hash) = 32),
  CONSTRAINT sign_in_challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_challenges_account_id_idx ON sign_in_challenges USING btree (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX sign_in_challenges_expires_at_idx ON sign_in_challenges USING btree (expires_at);
CREATE INDEX sign_in_challenges_user_id_idx ON sign_in_challenges USING btree (user_id);

-- table sign_in_links (global)

CREATE TABLE sign_in_links (
  token_hash bytea NOT NULL,
  user_id bigint,
  account_id bigint,
  email text NOT NULL,
  canonical_email text NOT NULL,
  next text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT sign_in_links_pkey PRIMARY KEY (token_hash),
  CONSTRAINT sign_in_links_account_id_check CHECK ((user_id IS NULL) = (account_id IS NOT NULL)),
  CONSTRAINT sign_in_links_expires_at_check CHECK (expires_at > created_at),
  CONSTRAINT sign_in_links_token_hash_check CHECK (octet_length(token_hash) = 32),
  CONSTRAINT sign_in_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_links_account_id_idx ON sign_in_links USING btree (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX sign_in_links_canonical_email_idx ON sign_in_links USING btree (canonical_email);
CREATE INDEX sign_in_links_expires_at_idx ON sign_in_links USING btree (expires_at);
CREATE INDEX sign_in_links_user_id_idx ON sign_in_links USING btree (user_id) WHERE user_id IS NOT NULL;

-- table sign_in_methods (global)

CREATE TABLE sign_in_methods (
  user_id bigint NOT NULL,
  kind text NOT NULL,
  credential text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  updated_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT sign_in_methods_pkey PRIMARY KEY (user_id, kind),
  CONSTRAINT sign_in_methods_kind_check CHECK (kind = 'password'::text),
  CONSTRAINT sign_in_methods_password_check CHECK (kind <> 'password'::text OR credential ~~ '$argon2id$%'::text),
  CONSTRAINT sign_in_methods_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

-- table token_usage (tenant)

CREATE TABLE token_usage (
  account_id bigint NOT NULL,
  token_id bigint NOT NULL,
  operation text NOT NULL,
  request_count bigint NOT NULL,
  parameters jsonb NOT NULL,
  fields jsonb NOT NULL,
  first_used_at timestamp(3) with time zone NOT NULL,
  last_used_at timestamp(3) with time zone NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT token_usage_pkey PRIMARY KEY (account_id, token_id, operation),
  CONSTRAINT token_usage_token_id_fkey FOREIGN KEY (account_id, token_id) REFERENCES api_tokens(account_id, id) ON DELETE CASCADE
) WITH (fillfactor=70);
CREATE INDEX token_usage_expires_at_idx ON token_usage USING btree (expires_at);
CREATE INDEX token_usage_first_used_at_idx ON token_usage USING btree (first_used_at);

-- table used_embedding_tokens (tenant)

CREATE TABLE used_embedding_tokens (
  account_id bigint NOT NULL,
  token_hash bytea NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT used_embedding_tokens_pkey PRIMARY KEY (account_id, token_hash),
  CONSTRAINT used_embedding_tokens_token_hash_check CHECK (octet_length(token_hash) = 32),
  CONSTRAINT used_embedding_tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
);
CREATE INDEX used_embedding_tokens_expires_at_idx ON used_embedding_tokens USING btree (expires_at);

-- table user_blocks (tenant)

CREATE TABLE user_blocks (
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  reason text DEFAULT ''::text NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT user_blocks_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT user_blocks_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT user_blocks_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX user_blocks_user_id_idx ON user_blocks USING btree (user_id);

-- table vote_followings (tenant)

CREATE TABLE vote_followings (
  account_id bigint NOT NULL,
  board_id bigint NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT vote_followings_pkey PRIMARY KEY (account_id, board_id),
  CONSTRAINT vote_followings_board_id_fkey FOREIGN KEY (account_id, board_id) REFERENCES boards(account_id, id) ON DELETE CASCADE
);

-- table votes (tenant)

CREATE TABLE votes (
  idea_id bigint NOT NULL,
  voter_id bigint NOT NULL,
  account_id bigint NOT NULL,
  value smallint NOT NULL,
  carried_from_id bigint,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  CONSTRAINT votes_pkey PRIMARY KEY (account_id, idea_id, voter_id),
  CONSTRAINT votes_value_check CHECK (value = ANY (ARRAY['-1'::integer, 0, 1])),
  CONSTRAINT votes_idea_id_fkey FOREIGN KEY (account_id, idea_id) REFERENCES ideas(account_id, id) ON DELETE CASCADE,
  CONSTRAINT votes_voter_id_fkey FOREIGN KEY (account_id, voter_id) REFERENCES voters(account_id, id) ON DELETE CASCADE
);
CREATE INDEX votes_idea_id_created_at_idx ON votes USING btree (account_id, idea_id, created_at DESC, voter_id DESC);
CREATE INDEX votes_voter_id_idea_id_idx ON votes USING btree (account_id, voter_id, idea_id);

-- table vote_networks (tenant)

CREATE TABLE vote_networks (
  account_id bigint NOT NULL,
  idea_id bigint NOT NULL,
  voter_id bigint NOT NULL,
  network bytea NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  CONSTRAINT vote_networks_pkey PRIMARY KEY (account_id, idea_id, voter_id),
  CONSTRAINT vote_networks_network_check CHECK (octet_length(network) = 16),
  CONSTRAINT vote_networks_vote_fkey FOREIGN KEY (account_id, idea_id, voter_id) REFERENCES votes(account_id, idea_id, voter_id) ON DELETE CASCADE
);
CREATE INDEX vote_networks_expires_at_idx ON vote_networks USING btree (expires_at);
CREATE INDEX vote_networks_idea_id_idx ON vote_networks USING btree (account_id, idea_id, expires_at);
CREATE INDEX vote_networks_voter_id_idx ON vote_networks USING btree (account_id, voter_id);

-- table webhook_deliveries (tenant)

CREATE TABLE webhook_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  endpoint_id bigint NOT NULL,
  event_id uuid NOT NULL,
  lane smallint DEFAULT 0 NOT NULL,
  state text DEFAULT 'pending'::text NOT NULL,
  attempt_count integer DEFAULT 0 NOT NULL,
  created_at timestamp(3) with time zone DEFAULT now() NOT NULL,
  next_attempt_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  is_redacted boolean DEFAULT false NOT NULL,
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT webhook_deliveries_event_id_endpoint_id_key UNIQUE (account_id, event_id, endpoint_id),
  CONSTRAINT webhook_deliveries_state_check CHECK (state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text])),
  CONSTRAINT webhook_deliveries_endpoint_id_fkey FOREIGN KEY (account_id, endpoint_id) REFERENCES webhook_endpoints(account_id, id) ON DELETE CASCADE,
  CONSTRAINT webhook_deliveries_event_id_fkey FOREIGN KEY (account_id, event_id) REFERENCES events(account_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_dead_idx ON webhook_deliveries USING btree (account_id, endpoint_id, id DESC) WHERE state = 'dead'::text;
CREATE INDEX webhook_deliveries_endpoint_id_id_idx ON webhook_deliveries USING btree (account_id, endpoint_id, id DESC);
CREATE INDEX webhook_deliveries_pending_idx ON webhook_deliveries USING btree (account_id, endpoint_id, lane, id) WHERE state = 'pending'::text;

-- table webhook_attempts (tenant)

CREATE TABLE webhook_attempts (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  delivery_id bigint NOT NULL,
  attempted_at timestamp(3) with time zone NOT NULL,
  duration_ms integer NOT NULL,
  status integer,
  error text,
  response text,
  CONSTRAINT webhook_attempts_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT webhook_attempts_outcome_check CHECK ((status IS NULL) <> (error IS NULL)),
  CONSTRAINT webhook_attempts_delivery_id_fkey FOREIGN KEY (account_id, delivery_id) REFERENCES webhook_deliveries(account_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_attempts_delivery_id_idx ON webhook_attempts USING btree (account_id, delivery_id);

-- function account_of_idea(bigint)

CREATE FUNCTION account_of_idea(p_idea_id bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (
    select found.account_id
      from accounts a
      cross join lateral (
        select i.account_id from ideas i where i.account_id = a.id and i.id = p_idea_id limit 1
      ) found
  );
end
$function$;

-- function begin_merge(bigint,bigint,bigint,timestamp with time zone)

CREATE FUNCTION begin_merge(p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_now timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into merges (account_id, source_id, target_id, merged_at)
  values (p_account_id, p_idea_id, p_target_id, p_now);
  update ideas i set merged_into_id = p_target_id, updated_at = p_now
   where i.account_id = p_account_id and i.id = p_idea_id;
  perform carry_votes(p_account_id, p_target_id);
end
$function$;

-- function carry_votes(bigint,bigint)

CREATE FUNCTION carry_votes(p_account_id bigint, p_idea_id bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  v_idea_id bigint := p_idea_id;
  v_source_ids bigint[];
begin
  while v_idea_id is not null loop
    v_source_ids := array(
      select m.source_id from merges m
       where m.account_id = p_account_id and m.target_id = v_idea_id and m.unmerged_at is null
       order by m.id
    );

    -- A withdrawn vote has nothing left to keep away once nothing is merged into the idea.
    delete from votes v
     where v.account_id = p_account_id and v.idea_id = v_idea_id and v.value = 0 and v_source_ids = '{}';

    delete from votes v
     where v.account_id = p_account_id and v.idea_id = v_idea_id and v.carried_from_id is not null
       and not exists (
         select from votes s
          where s.account_id = p_account_id and s.idea_id = any (v_source_ids) and s.voter_id = v.voter_id
            and s.value <> 0
            and (s.carried_from_id is null or exists (
              select from ideas i
               where i.account_id = p_account_id and i.id = s.carried_from_id and i.merged_into_id = s.idea_id
            ))
       );

    insert into votes (account_id, idea_id, voter_id, value, carried_from_id, created_at)
    select p_account_id, v_idea_id, wanted.voter_id, wanted.value, wanted.source_id, wanted.created_at
      from (
        select distinct on (s.voter_id) s.voter_id, s.value, s.idea_id as source_id, s.created_at
          from votes s
         where s.account_id = p_account_id and s.idea_id = any (v_source_ids) and s.value <> 0
           and (s.carried_from_id is null or exists (
             select from ideas i
              where i.account_id = p_account_id and i.id = s.carried_from_id and i.merged_into_id = s.idea_id
           ))
         order by s.voter_id, array_position(v_source_ids, s.idea_id)
      ) wanted
      left join votes v on v.account_id = p_account_id and v.idea_id = v_idea_id and v.voter_id = wanted.voter_id
     where v.voter_id is null
        or v.carried_from_id is not null
          and (v.carried_from_id, v.value, v.created_at) <> (wanted.source_id, wanted.value, wanted.created_at)
     order by wanted.voter_id
    on conflict (account_id, idea_id, voter_id) do update
      set value = excluded.value, carried_from_id = excluded.carried_from_id, created_at = excluded.created_at;

    update ideas i
       set up_count = tally.up_count, down_count = tally.down_count
      from (
        select count(*) filter (where v.value = 1) as up_count, count(*) filter (where v.value = -1) as down_count
          from votes v where v.account_id = p_account_id and v.idea_id = v_idea_id
      ) tally
     where i.account_id = p_account_id and i.id = v_idea_id
    returning i.merged_into_id into v_idea_id;
  end loop;
end
$function$;

-- function cast_vote(bigint,bigint,bigint,bigint,smallint,timestamp with time zone,bigint,bigint)

CREATE FUNCTION cast_vote(p_account_id bigint, p_board_id bigint, p_idea_id bigint, p_voter_id bigint, p_value smallint, p_now timestamp with time zone, p_actor_id bigint, p_token_id bigint, OUT outcome text, OUT changed boolean, OUT up_count integer, OUT down_count integer)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
declare
  v_names constant text[] := array['down', 'none', 'up'];
  v_status_id bigint;
  v_old smallint;
begin
  changed := false;

  select i.status_id, i.up_count, i.down_count
    into v_status_id, up_count, down_count
    from ideas i
   where i.account_id = p_account_id and i.id = p_idea_id and i.board_id = p_board_id
     and i.moderation_state = 'published' and i.merged_into_id is null
     for no key update;
  if not found then
    outcome := 'not_found';
    return;
  end if;

  -- Read after the lock was acquired: the status may have changed while waiting for it.
  select case
           when b.is_frozen then 'board_frozen'
           when p_now < b.voting_open_at then 'voting_not_open_yet'
           when p_now >= b.voting_close_at then 'voting_closed'
           when not s.allow_votes then 'status_votes_closed'
           else 'ok'
         end
    into outcome
    from boards b, statuses s
   where b.account_id = p_account_id and b.id = p_board_id and s.account_id = p_account_id and s.id = v_status_id;
  if outcome <> 'ok' then
    return;
  end if;

  -- A copy from an idea that is not merged into this one does not count: see copy_votes.
  select v.value into v_old
    from votes v
   where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id
     and (v.carried_from_id is null or exists (
       select from ideas i
        where i.account_id = p_account_id and i.id = v.carried_from_id and i.merged_into_id = v.idea_id
     ));

  if p_value <> 0 then
    insert into votes (account_id, idea_id, voter_id, value, created_at)
    values (p_account_id, p_idea_id, p_voter_id, p_value, p_now)
    on conflict (account_id, idea_id, voter_id) do update
      set value = excluded.value, carried_from_id = null
      where votes.value <> excluded.value or votes.carried_from_id is not null;
  elsif v_old is not null then
    if exists (select from ideas i where i.account_id = p_account_id and i.merged_into_id = p_idea_id) then
      update votes v set value = 0, carried_from_id = null
       where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id;
    else
      delete from votes v
       where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id;
    end if;
  end if;

  if coalesce(v_old, 0) <> p_value then
    changed := true;
    update ideas i
       set up_count = i.up_count + (p_value = 1)::int - (coalesce(v_old, 0) = 1)::int,
           down_count = i.down_count + (p_value = -1)::int - (coalesce(v_old, 0) = -1)::int
     where i.account_id = p_account_id and i.id = p_idea_id
    returning i.up_count, i.down_count into up_count, down_count;

    -- Most votes interest no webhook, no extension and no client. Then nothing is recorded.
    if exists (select from listening_endpoints(p_account_id, p_board_id, 'idea.voted'))
      or exists (select from extension_subscriptions s where s.event_type = 'idea.voted')
      or exists (
        select from vote_followings f
         where f.account_id = p_account_id and f.board_id = p_board_id and f.expires_at > now()
      )
    then
      perform record_event(
        p_account_id, 'idea.voted', p_idea_id, null, p_actor_id, p_token_id,
        jsonb_build_object('vote', json_build_object(
          'value', v_names[p_value + 2], 'previous', v_names[coalesce(v_old, 0) + 2]
        )),
        p_now
      );
    end if;
  end if;
end
$function$;

-- function cast_vote(bigint,bigint,bigint,smallint,timestamp with time zone,bigint,bigint)

CREATE FUNCTION cast_vote(p_idea_id bigint, p_board_id bigint, p_voter_id bigint, p_value smallint, p_now timestamp with time zone, p_actor_id bigint, p_token_id bigint, OUT outcome text, OUT changed boolean, OUT up_count integer, OUT down_count integer)
 RETURNS record
 LANGUAGE plpgsql
AS $function$
begin
  select c.outcome, c.changed, c.up_count, c.down_count
    into outcome, changed, up_count, down_count
    from cast_vote(
      account_of_idea(p_idea_id), p_board_id, p_idea_id, p_voter_id, p_value, p_now, p_actor_id, p_token_id
    ) c;
end
$function$;

-- function copy_votes(bigint,bigint,bigint,bigint,integer)

CREATE FUNCTION copy_votes(p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_after_voter_id bigint, p_count integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
  v_last_voter_id bigint;
begin
  perform from ideas i where i.account_id = p_account_id and i.id = p_target_id for no key update;
  if exists (
    select from ideas i where i.account_id = p_account_id and i.id = p_idea_id and i.merged_into_id is not null
  ) then
    return null;
  end if;

  with batch as materialized (
    select v.voter_id, v.value, v.created_at
      from votes v
     where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id > p_after_voter_id and v.value <> 0
       and (v.carried_from_id is null or exists (
         select from ideas i
          where i.account_id = p_account_id and i.id = v.carried_from_id and i.merged_into_id = v.idea_id
       ))
     order by v.voter_id
     limit p_count
  ),
  copied as (
    insert into votes (account_id, idea_id, voter_id, value, carried_from_id, created_at)
    select p_account_id, p_target_id, b.voter_id, b.value, p_idea_id, b.created_at from batch b order by b.voter_id
    on conflict (account_id, idea_id, voter_id) do nothing
  )
  select max(b.voter_id) into v_last_voter_id from batch b;
  return v_last_voter_id;
end
$function$;

-- function copy_votes(bigint,bigint,bigint,integer)

CREATE FUNCTION copy_votes(p_idea_id bigint, p_target_id bigint, p_after_voter_id bigint, p_count integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
begin
  return copy_votes(account_of_idea(p_idea_id), p_idea_id, p_target_id, p_after_voter_id, p_count);
end
$function$;

-- function end_merge(bigint,bigint,bigint,timestamp with time zone)

CREATE FUNCTION end_merge(p_account_id bigint, p_idea_id bigint, p_target_id bigint, p_now timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  update merges m set unmerged_at = p_now
   where m.account_id = p_account_id and m.source_id = p_idea_id and m.unmerged_at is null;
  update ideas i set merged_into_id = null, updated_at = p_now
   where i.account_id = p_account_id and i.id = p_idea_id;
  perform carry_votes(p_account_id, p_target_id);
end
$function$;

-- function end_merge(bigint,bigint,timestamp with time zone)

CREATE FUNCTION end_merge(p_idea_id bigint, p_target_id bigint, p_now timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform end_merge(account_of_idea(p_idea_id), p_idea_id, p_target_id, p_now);
end
$function$;

-- function event_body(text,jsonb,timestamp with time zone)

CREATE FUNCTION event_body(p_type text, p_data jsonb, p_now timestamp with time zone)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return json_build_object(
    'type', p_type,
    'timestamp', rfc3339(p_now),
    'data', (
      select jsonb_object_agg(part.key, case
        when part.key not in ('idea', 'target') then part.value
        else part.value || jsonb_build_object(
          'status', case part.value ->> 'status_category'
            when 'inbox' then 'open' when 'active' then 'in_progress' when 'completed' then 'done'
            else part.value ->> 'status_category'
          end,
          'created_at', rfc3339((part.value ->> 'created_at')::timestamptz),
          'updated_at', rfc3339((part.value ->> 'updated_at')::timestamptz)
        )
      end)
      from jsonb_each(p_data) part
    )
  );
end
$function$;

-- function idea_columns(bigint,bigint)

CREATE FUNCTION idea_columns(p_account_id bigint, p_idea_id bigint)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (
    select to_jsonb(i) - '{account_id,board_id,author_id,status_id,rejection_reason,title_words}'::text[]
      || jsonb_build_object(
        'status_key', s.key, 'status_category', s.category, 'status_label', s.label,
        'author', json_build_object('id', u.id, 'name', u.name),
        'tags', coalesce((
          select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name), t.id)
            from idea_tags it join tags t on t.account_id = p_account_id and t.id = it.tag_id
           where it.account_id = p_account_id and it.idea_id = i.id
        ), '[]')
      )
      from ideas i
      join statuses s on s.account_id = p_account_id and s.id = i.status_id
      join users u on u.id = i.author_id
     where i.account_id = p_account_id and i.id = p_idea_id
  );
end
$function$;

-- function prefix_query(text[])

CREATE FUNCTION prefix_query(lexemes text[])
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (SELECT (COALESCE(string_agg(((''''::text || replace(replace(lexeme.lexeme, '\'::text, '\\'::text), ''''::text, ''''''::text)) || ''':*'::text), ' & '::text), ''::text))::tsquery AS "coalesce" FROM unnest(prefix_query.lexemes) lexeme(lexeme));

-- function search_text(text)

CREATE FUNCTION search_text(p_text text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN regexp_replace(translate(NORMALIZE(p_text, NFKC), '/.@<>&:+'::text, '        '::text), '-(?=[0-9])'::text, ' '::text, 'g'::text);

-- function search_words(text)

CREATE FUNCTION search_words(p_text text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN to_tsvector('idea_search'::regconfig, search_text(p_text));

-- function index_words_query(text)

CREATE FUNCTION index_words_query(q text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN prefix_query(ARRAY(SELECT words.lexeme FROM (SELECT lexeme.lexeme, row_number() OVER (ORDER BY (char_length(lexeme.lexeme)) DESC, lexeme.lexeme) AS place FROM unnest(tsvector_to_array(search_words(index_words_query.q))) lexeme(lexeme)) words WHERE ((char_length(words.lexeme) >= 3) OR (words.place = 1))));

-- function listening_endpoints(bigint,bigint,text)

CREATE FUNCTION listening_endpoints(p_account_id bigint, p_board_id bigint, p_type text)
 RETURNS TABLE(endpoint_id bigint)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT w.id
    FROM webhook_endpoints w
   WHERE ((w.account_id = listening_endpoints.p_account_id) AND ((w.board_id IS NULL) OR (w.board_id = listening_endpoints.p_board_id)) AND (w.disabled_at IS NULL) AND (((w.event_types = '{}'::text[]) AND (listening_endpoints.p_type <> 'idea.voted'::text)) OR (listening_endpoints.p_type = ANY (w.event_types))));
END;

-- function offer_event(bigint,bigint,uuid,text,boolean)

CREATE FUNCTION offer_event(p_account_id bigint, p_board_id bigint, p_event_id uuid, p_type text, p_is_pending boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  insert into event_positions (account_id, event_id, board_id, type, is_pending)
  values (p_account_id, p_event_id, p_board_id, p_type, p_is_pending);

  if exists (
    select from event_waits w
     where w.account_id = p_account_id and w.board_id = p_board_id and w.expires_at > clock_timestamp()
  ) then
    perform pg_notify('idea_board_events', p_board_id::text);
  end if;
end
$function$;

-- function place_events(bigint,bigint,integer)

CREATE FUNCTION place_events(p_account_id bigint, p_board_id bigint, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  v_count integer;
begin
  perform pg_advisory_xact_lock(hashtextextended('idea-board events ' || p_board_id, 0));
  -- The snapshot of this statement is newer than the lock.
  with unplaced as (
    select p.event_id, p.number
      from event_positions p
     where p.account_id = p_account_id and p.board_id = p_board_id and p.position is null
     order by p.number
     limit p_limit
  ), placed as (
    select u.event_id, nextval('event_positions_number_seq') as position
      from (select event_id from unplaced order by number) u
  )
  update event_positions p
     set position = placed.position
    from placed
   where p.account_id = p_account_id and p.event_id = placed.event_id;
  get diagnostics v_count = row_count;
  return v_count;
end
$function$;

-- function record_event(bigint,text,bigint,bigint,bigint,bigint,jsonb,timestamp with time zone)

CREATE FUNCTION record_event(p_account_id bigint, p_type text, p_idea_id bigint, p_target_id bigint, p_actor_id bigint, p_token_id bigint, p_details jsonb, p_now timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
declare
  v_event_id uuid;
  v_board_id bigint;
  v_data jsonb;
  v_is_pending boolean;
  v_delivery record;
  v_payload json;
  v_extensions text[];
  v_traceparent text := nullif(current_setting('idea_board.traceparent', true), '');
begin
  select i.board_id,
    jsonb_build_object(
      'board', json_build_object('id', b.id, 'slug', b.slug, 'name', b.name),
      'idea', idea_columns(p_account_id, i.id),
      'actor', (
        select json_build_object('id', u.id, 'name', u.name, 'token_id', p_token_id)
          from users u where u.id = p_actor_id
      ),
      'changes', '[]'::jsonb
    )
    || case
         when p_target_id is null then '{}'
         else jsonb_build_object('target', idea_columns(p_account_id, p_target_id))
       end
    || p_details
    into v_board_id, v_data
    from ideas i join boards b on b.account_id = p_account_id and b.id = i.board_id
   where i.account_id = p_account_id and i.id = p_idea_id;
  v_is_pending := coalesce(v_data #>> '{idea,moderation_state}', 'published') = 'pending';

  select coalesce(array_agg(s.extension order by s.extension), '{}') into v_extensions
    from extension_subscriptions s where s.event_type = p_type;

  insert into events (account_id, board_id, idea_id, actor_id, type, data, body, occurred_at, waiting_extensions)
  values (
    p_account_id, v_board_id, p_idea_id, p_actor_id, p_type,
    v_data || jsonb_strip_nulls(jsonb_build_object('traceparent', v_traceparent)), event_body(p_type, v_data, p_now), p_now,
    v_extensions
  )
  returning id into v_event_id;

  -- An unpublished idea concerns its author and the moderators. No client that follows the board receives it.
  if p_type not in ('idea.pending', 'idea.rejected') then
    perform offer_event(p_account_id, v_board_id, v_event_id, p_type, v_is_pending);
  end if;

  for v_delivery in
    insert into webhook_deliveries (account_id, endpoint_id, event_id, lane, created_at, next_attempt_at)
    select p_account_id, w.id, v_event_id, p_idea_id % 8, p_now, now()
      from webhook_endpoints w
     where w.account_id = p_account_id
       and w.id in (select l.endpoint_id from listening_endpoints(p_account_id, v_board_id, p_type) l)
    -- An unpublished idea concerns its author and the moderators. No webhook receives it.
       and p_type not in ('idea.pending', 'idea.rejected') and not v_is_pending
    -- Waits for a transaction that deletes an endpoint. Then the event gets no delivery to it, instead of an error.
       for key share of w
    returning endpoint_id, lane
  loop
    -- Wakes the lane, which then sends its pending deliveries in order.
    perform graphile_worker.add_job('deliver_webhooks', json_strip_nulls(json_build_object(
      'account_id', p_account_id, 'endpoint_id', v_delivery.endpoint_id, 'lane', v_delivery.lane,
      'traceparent', v_traceparent
    )));
  end loop;

  v_payload := json_strip_nulls(json_build_object(
    'account_id', p_account_id, 'event_id', v_event_id, 'traceparent', v_traceparent
  ));
  -- The events of one idea are in one queue, so that an extension receives them in their order.
  perform graphile_worker.add_job(
    'extension_event:' || x.name, v_payload,
    queue_name => format('extension:%s:%s', x.name, p_idea_id % 8), run_at => clock_timestamp()
  )
  from unnest(v_extensions) x (name);

  if p_type <> 'idea.voted' then
    -- Does not use now(), the time when the transaction began. A transaction that held the lock earlier may have begun
    -- later.
    perform graphile_worker.add_job(
      'tell_people', v_payload,
      queue_name => format('people:%s', p_idea_id % 8), run_at => clock_timestamp()
    );
  end if;
  return v_event_id;
end
$function$;

-- function record_event(text,bigint,bigint,bigint,bigint,jsonb,timestamp with time zone)

CREATE FUNCTION record_event(p_type text, p_idea_id bigint, p_target_id bigint, p_actor_id bigint, p_token_id bigint, p_extra jsonb, p_now timestamp with time zone)
 RETURNS uuid
 LANGUAGE plpgsql
AS $function$
begin
  return record_event(
    account_of_idea(p_idea_id), p_type, p_idea_id, p_target_id, p_actor_id, p_token_id, p_extra, p_now
  );
end
$function$;

-- function rfc3339(timestamp with time zone)

CREATE FUNCTION rfc3339(p_time timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN to_char((p_time AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text);

-- function similar_ideas(bigint,bigint,text,text)

CREATE FUNCTION similar_ideas(p_account_id bigint, p_board_id bigint, p_title text, p_body text)
 RETURNS TABLE(idea_id bigint, similarity double precision)
 LANGUAGE plpgsql
 STABLE ROWS 60
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  v_language text;
  v_title text;
  v_board text := p_board_id || ':';
  v_keys text := v_board || '-';
  v_terms text[];
  v_frequencies real[];
  v_total real;
begin
  select b.language into v_language from boards b where b.account_id = p_account_id and b.id = p_board_id;
  v_title := array_to_string(tsvector_to_array(to_tsvector('idea_search', normalize(p_title, nfkc))), ' ');
  -- The most common terms of all boards, and the number of ideas. Reads them into variables, because that is faster than a
  -- part of the statement.
  select s.most_common_elems::text::text[], s.most_common_elem_freqs, c.reltuples into v_terms, v_frequencies, v_total
    from pg_class c
    left join pg_stats s on s.schemaname = current_schema() and s.tablename = 'idea_terms' and s.attname = 'terms'
   where c.oid = 'idea_terms'::regclass;

  return query
  with recursive common_words as materialized (
    -- The estimated number of ideas with each of the most common words of the board.
    select u.term, u.frequency * v_total as idea_count
      from unnest(v_terms, v_frequencies) as u (term, frequency)
     where starts_with(u.term, v_board) and not starts_with(u.term, v_keys)
  ),
  title_parts as materialized (
    select w.beginning, min(w.word) as word, min(w.place) as place from similar_words(p_title, v_language) w group by 1
  ),
  body_parts as (
    select w.beginning, min(w.word) as word, min(w.place) as place
      from similar_words(left(p_body, 1000), v_language) w
     where w.beginning not in (select t.beginning from title_parts t)
     group by 1
  ),
  words as materialized (
    select f.place, f.word, f.in_title, format('%L:*', f.prefix)::tsquery as query, c.idea_count,
      c.idea_count > 2000 as is_common
      from (
        select row_number() over (order by p.in_title desc, p.place) as place, p.word, v_board || p.beginning as prefix,
          p.in_title
          from (
            select t.*, true as in_title from title_parts t
            union all
            select b.*, false from body_parts b
          ) p
         order by 1
         limit 12
      ) f
     cross join lateral (
       select coalesce(sum(t.idea_count), 0) as idea_count from common_words t where starts_with(t.term, f.prefix)
     ) c
  ),
  word_hits as materialized (
    select w.place, h.id
      from words w
     cross join lateral (
       select t.idea_id as id from idea_terms t
        -- The cast prevents the use of the primary key. Without statistics, PostgreSQL would choose it and read the terms of
        -- all ideas of the account.
        where t.account_id = p_account_id::numeric and t.terms @@ w.query
        limit case when w.in_title then 200 else 60 end
     ) h
     where not w.is_common
  ),
  key_searches as (
    select w.place, (
        select string_agg(format('%L', v_board || k.key), ' | ')
          from unnest(typo_keys(array[w.word])) as k (key)
         where v_board || k.key not in (
           select u.term from unnest(v_terms, v_frequencies) as u (term, frequency)
            where starts_with(u.term, v_keys) and u.frequency * v_total > 2000
         )
      )::tsquery as query
      from words w
      left join (select h.place, count(*) as hit_count from word_hits h group by h.place) c on c.place = w.place
     where w.in_title and not w.is_common and coalesce(c.hit_count, 0) < 60
  ),
  pair_search as materialized (
    select w.place, format('%L & %L', v_board || w.word, v_board || o.word)::tsquery as query
      from words w
      join words o on o.place > w.place
     where w.in_title and w.is_common and o.in_title and o.is_common
       and w.idea_count * o.idea_count / greatest(v_total, 1) <= 2000
     order by w.idea_count * o.idea_count
     limit 1
  ),
  hits as materialized (
    select w.place, w.id from word_hits w
    union
    select s.place, h.id
      from (table key_searches union all table pair_search) s
     cross join lateral (
       select t.idea_id as id from idea_terms t
        where t.account_id = p_account_id::numeric and t.terms @@ s.query
        limit 200
     ) h
    union all
    select 1, n.id
      from (
        select i.id, i.board_id, i.moderation_state, i.title_words
          from ideas i
         where i.account_id = p_account_id
           and not exists (select from words w where not w.is_common) and not exists (table pair_search)
         order by i.id desc
         limit 2000
      ) n
     where n.board_id = p_board_id and n.moderation_state = 'published'
       and ts_match_vq(n.title_words, (select prefix_query(array_agg(t.beginning)) from title_parts t))
  ),
  candidates as materialized (
    select h.id
      from hits h
      join (
        select f.place, 1 / ln(2 + count(*)::double precision) as rarity from hits f group by f.place
      ) w on w.place = h.place
     group by h.id
     order by sum(w.rarity) desc, h.id desc
     limit 60
  ),
  compared as materialized (
    select i.id, similarity(v_title, array_to_string(tsvector_to_array(i.title_words), ' ')) as title_similarity, t.terms
      from candidates c
      join ideas i on i.account_id = p_account_id and i.id = c.id
      join idea_terms t on t.account_id = p_account_id and t.idea_id = c.id
  ),
  weights as materialized (
    select w.query,
      ln(1 + m.total / (1 + m.matching)::double precision) * case when w.in_title then 2 else 1 end as weight
      from words w
     cross join lateral (
       select count(*) as total, count(*) filter (where c.terms @@ w.query) as matching from compared c
     ) m
  ),
  scores as materialized (
    select c.id,
      greatest(c.title_similarity, 0.4 * c.title_similarity + 0.6 * coalesce(s.share, 0))::double precision as score
      from compared c
     cross join lateral (
       select sum(w.weight) filter (where c.terms @@ w.query) / sum(w.weight) as share from weights w
     ) s
  ),
  targets as (
    select s.id, s.score from scores s
    union
    select i.merged_into_id, t.score
      from targets t join ideas i on i.account_id = p_account_id and i.id = t.id
     where i.merged_into_id is not null
  )
  select t.id, max(t.score) from targets t where t.score >= 0.2 group by t.id;
end
$function$;

-- function typo_keys(text[])

CREATE FUNCTION typo_keys(words text[])
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(SELECT ('-'::text || CASE n.n WHEN 0 THEN "left"(w.word, 7) ELSE OVERLAY("left"(w.word, 7) PLACING ''::text FROM n.n FOR 1) END) FROM (unnest(typo_keys.words) w(word) CROSS JOIN generate_series(0, 7) n(n)) WHERE ((char_length(w.word) >= 4) AND (n.n <= char_length(w.word))));

-- function similar_terms(bigint,tsvector,text)

CREATE FUNCTION similar_terms(board_id bigint, title_words tsvector, body text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN array_to_tsvector(ARRAY(SELECT ((similar_terms.board_id || ':'::text) || t.term) FROM unnest((tsvector_to_array((similar_terms.title_words || to_tsvector('idea_search'::regconfig, CASE WHEN (octet_length("left"(similar_terms.body, 1000)) = char_length("left"(similar_terms.body, 1000))) THEN "left"(similar_terms.body, 1000) ELSE NORMALIZE("left"(similar_terms.body, 1000), NFKC) END))) || typo_keys(tsvector_to_array(similar_terms.title_words)))) t(term) WHERE (octet_length(t.term) <= 1000)));

-- function similar_words(text,text)

CREATE FUNCTION similar_words(p_text text, p_language text)
 RETURNS TABLE(word text, beginning text, place bigint)
 LANGUAGE sql
 STABLE PARALLEL SAFE
BEGIN ATOMIC
 WITH tokens AS (
          SELECT lower(t.token) AS token,
             min(t.place) AS place
            FROM ts_parse('default'::text, NORMALIZE(similar_words.p_text, NFKC)) WITH ORDINALITY t(tokid, token, place)
           WHERE (t.tokid = ANY (ARRAY[1, 2, 3, 9, 10, 11, 20, 21, 22]))
           GROUP BY (lower(t.token))
         ), folded AS (
          SELECT f_1.word,
             f_1.stem,
             t.place
            FROM (tokens t
              CROSS JOIN LATERAL ( SELECT (tsvector_to_array(to_tsvector('idea_search'::regconfig, t.token)))[1] AS word,
                     (tsvector_to_array(to_tsvector('idea_search'::regconfig, COALESCE((tsvector_to_array(to_tsvector((similar_words.p_language)::regconfig, t.token)))[1], ''::text))))[1] AS stem) f_1)
           WHERE ((f_1.stem IS NOT NULL) AND (NOT (EXISTS ( SELECT
                    FROM unnest(ARRAY['english_stem'::regdictionary, 'german_stem'::regdictionary, 'french_stem'::regdictionary, 'spanish_stem'::regdictionary, 'portuguese_stem'::regdictionary, 'italian_stem'::regdictionary, 'dutch_stem'::regdictionary]) d(dictionary)
                   WHERE (ts_lexize(d.dictionary, t.token) = '{}'::text[])))))
         )
  SELECT f.word,
     "left"(f.word, GREATEST(LEAST(3, char_length(f.word)), (
         CASE
             WHEN starts_with(f.word, f.stem) THEN char_length(f.stem)
             ELSE (char_length(f.stem) - 1)
         END -
         CASE
             WHEN ((char_length(f.word) >= 6) AND (similar_words.p_language = 'simple'::text)) THEN 2
             ELSE 0
         END))) AS "left",
     min(f.place) AS min
    FROM folded f
   GROUP BY f.word, ("left"(f.word, GREATEST(LEAST(3, char_length(f.word)), (
         CASE
             WHEN starts_with(f.word, f.stem) THEN char_length(f.stem)
             ELSE (char_length(f.stem) - 1)
         END -
         CASE
             WHEN ((char_length(f.word) >= 6) AND (similar_words.p_language = 'simple'::text)) THEN 2
             ELSE 0
         END))));
END;

-- function similar_words_query(text)

CREATE FUNCTION similar_words_query(title text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN (WITH words AS (SELECT found.lexeme, row_number() OVER (ORDER BY (char_length(found.lexeme)) DESC, found.lexeme) AS place FROM unnest(tsvector_to_array(to_tsvector('idea_search'::regconfig, NORMALIZE(similar_words_query.title, NFKC)))) found(lexeme) WHERE (char_length(found.lexeme) >= 3)) SELECT (COALESCE(string_agg((prefix_query(ARRAY[one.lexeme, other.lexeme]))::text, ' | '::text), (SELECT (prefix_query(array_agg(words.lexeme)))::text AS prefix_query FROM words), ''::text))::tsquery AS "coalesce" FROM (words one JOIN words other ON ((other.place > one.place))) WHERE ((one.place <= 6) AND (other.place <= 6)));

-- function words_query(text)

CREATE FUNCTION words_query(q text)
 RETURNS tsquery
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
RETURN prefix_query(tsvector_to_array(search_words(q)));
