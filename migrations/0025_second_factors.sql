-- Two-factor sign-in with the codes of an authenticator app (RFC 6238) or with recovery codes.
--
-- The previous version runs on the new schema, but asks for no codes. Until the last server of the previous version has
-- stopped, a password alone signs in there. The column has_second_factor of such a session is false.

create table second_factors (
  user_id bigint not null constraint second_factors_pkey primary key
    constraint second_factors_user_id_fkey references users on delete cascade,
  -- The shared secret, encrypted with the application key.
  secret bytea not null,
  -- The time step of the last accepted code: the Unix time in seconds, divided by 30. The server accepts only codes of
  -- later steps, so that nobody can use a code again.
  last_step bigint not null,
  created_at timestamptz(3) not null default now()
);

-- Each row is deleted when its code is used.
create table recovery_codes (
  user_id bigint not null constraint recovery_codes_user_id_fkey references second_factors on delete cascade,
  -- An HMAC-SHA-256 under a key from the application key.
  code_hash bytea not null,
  constraint recovery_codes_pkey primary key (user_id, code_hash),
  constraint recovery_codes_code_hash_check check (octet_length(code_hash) = 32)
);

-- Sign-ins that wait for the code. The cookie of the browser has a token, and the row its SHA-256.
create table sign_in_challenges (
  token_hash bytea not null constraint sign_in_challenges_pkey primary key,
  user_id bigint not null constraint sign_in_challenges_user_id_fkey references users on delete cascade,
  -- The time when the user had set the password that was compared. Null if the sign-in was without a password.
  password_set_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint sign_in_challenges_token_hash_check check (octet_length(token_hash) = 32),
  constraint sign_in_challenges_expires_at_check check (expires_at > created_at)
);

-- A new password, signing out everywhere, and erasure.
create index sign_in_challenges_user_id_idx on sign_in_challenges (user_id);
-- The clean-up of expired rows.
create index sign_in_challenges_expires_at_idx on sign_in_challenges (expires_at);

-- Whether the user entered a code when the session started, or turned on two-factor sign-in in the session.
alter table sessions add column has_second_factor boolean not null default false;

-- Whether the account requires two-factor sign-in of its owners and admins.
alter table accounts add column requires_second_factor boolean not null default false;
