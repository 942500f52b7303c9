-- Boards in frames of other sites, and the sign-in with a token of the site that shows the frame.
--
-- The previous version runs on the new schema and serves no embedded boards. Until its last server has
-- stopped, the token of an embedded session also opens other pages there, if somebody copies the token to the other cookie.

-- The origins of the pages that may show the boards of the account in a frame.
alter table accounts
  add column embedding_origins text[] not null default '{}',
  add constraint accounts_embedding_origins_check check (cardinality(embedding_origins) <= 20);

-- The account's own applications sign the tokens of people with these secrets.
create table embedding_secrets (
  id bigint not null generated always as identity,
  account_id bigint not null constraint embedding_secrets_account_id_fkey references accounts on delete cascade,
  -- Encrypted with the application key.
  secret bytea not null,
  created_at timestamptz(3) not null default now(),
  -- The time of the last sign-in with the secret, accurate to the minute.
  last_used_at timestamptz(3),
  constraint embedding_secrets_pkey primary key (account_id, id)
);

-- The tokens that have signed a person in. The server refuses such a token from then on.
create table used_embedding_tokens (
  account_id bigint not null constraint used_embedding_tokens_account_id_fkey references accounts on delete cascade,
  -- The SHA-256 of the signed part of the token.
  token_hash bytea not null,
  expires_at timestamptz(3) not null,
  constraint used_embedding_tokens_pkey primary key (account_id, token_hash),
  constraint used_embedding_tokens_token_hash_check check (octet_length(token_hash) = 32)
);

-- The clean-up of expired rows.
create index used_embedding_tokens_expires_at_idx on used_embedding_tokens (expires_at);

-- The secret that has signed the person in. The session opens only the embedded pages of boards, and ends with its secret.
-- Null for every other session.
alter table sessions add column embedding_secret_id bigint;
