-- Links by which people set a password: the first one, or another when they have forgotten it.

-- The link holds a token, and the row its SHA-256: who reads the database can set nobody's password. Whoever sets a
-- password removes all rows of the user, so that a link works once and others not any more.
create table password_links (
  token_hash bytea not null constraint password_links_pkey primary key,
  user_id bigint not null constraint password_links_user_id_fkey references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint password_links_token_hash_check check (octet_length(token_hash) = 32),
  constraint password_links_expires_at_check check (expires_at > created_at)
);

-- Setting a password, and erasure.
create index password_links_user_id_idx on password_links (user_id);
-- The clean-up of what has expired.
create index password_links_expires_at_idx on password_links (expires_at);
