-- How people sign in, what OAuth keeps, and what the erasure of accounts and users goes by.

-- What a user proves to be themself with. Of each kind there is one, so that setting a password anew replaces it.
create table sign_in_methods (
  user_id bigint not null constraint sign_in_methods_user_id_fkey references users on delete cascade,
  kind text not null,
  -- Of a password the PHC string of argon2id, with its salt and costs: the password itself is stored nowhere.
  credential text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint sign_in_methods_pkey primary key (user_id, kind),
  constraint sign_in_methods_kind_check check (kind in ('password')),
  constraint sign_in_methods_password_check check (kind <> 'password' or credential like '$argon2id$%')
);

-- Who is signed in. The cookie holds the token, and the row its SHA-256: who reads the database cannot sign in with it.
create table sessions (
  token_hash bytea not null constraint sessions_pkey primary key,
  user_id bigint not null constraint sessions_user_id_fkey references users on delete cascade,
  created_at timestamptz(3) not null default now(),
  -- Kept to the minute. A session that was idle for too long is over, and so is one that has reached its end.
  last_seen_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint sessions_token_hash_check check (octet_length(token_hash) = 32),
  constraint sessions_expires_at_check check (expires_at > created_at)
)
-- Every minute of use rewrites the row, on its page.
with (fillfactor = 85);

-- Signing out everywhere, and erasure.
create index sessions_user_id_idx on sessions (user_id);
-- The clean-up of what has expired.
create index sessions_expires_at_idx on sessions (expires_at);

-- What the OAuth provider keeps: clients, interactions, its own sessions, grants, codes and tokens.
create table oauth_records (
  model text not null,
  -- The SHA-256 of the id, which of a code or a token is the code or token itself.
  id_hash bytea not null,
  -- Without the id, which the provider puts into it: whoever reads a record adds it back.
  payload jsonb not null,
  -- Whom the record is of; null for a client, and until somebody signs in.
  user_id bigint constraint oauth_records_user_id_fkey references users on delete cascade,
  -- The token of which the boards and levels of the grant are; every record under a grant names it, so that one join
  -- authenticates and revoking the token ends them all.
  token_id bigint constraint oauth_records_token_id_fkey references api_tokens on delete cascade,
  grant_id text,
  -- The second name of the provider's own sessions.
  uid text,
  created_at timestamptz(3) not null default now(),
  -- Set once: of two redemptions of one code the second finds it set.
  consumed_at timestamptz(3),
  -- Null for a client, which stays until it is swept as unused.
  expires_at timestamptz(3),
  constraint oauth_records_pkey primary key (model, id_hash),
  constraint oauth_records_id_hash_check check (octet_length(id_hash) = 32),
  constraint oauth_records_payload_check check (not payload ? 'jti')
);

-- Revoking a grant ends what was issued under it.
create index oauth_records_grant_id_idx on oauth_records (grant_id) where grant_id is not null;
create unique index oauth_records_uid_key on oauth_records (model, uid) where uid is not null;
-- Signing out everywhere, and erasure.
create index oauth_records_user_id_idx on oauth_records (user_id) where user_id is not null;
create index oauth_records_token_id_idx on oauth_records (token_id) where token_id is not null;
-- The clean-up of what has expired.
create index oauth_records_expires_at_idx on oauth_records (expires_at) where expires_at is not null;

-- When the erasure began: from then on it cannot be called off, and nothing of the account or by the user is served.
alter table accounts
  add column erasure_began_at timestamptz(3),
  add constraint accounts_erasure_check check (erasure_began_at is null or deletion_scheduled_at is not null);
alter table users
  add column erasure_began_at timestamptz(3),
  add constraint users_erasure_check
    check (erasure_began_at is null or (deletion_requested_at is not null and not is_placeholder));

-- Which erasures are due: few of all rows.
create index accounts_deletion_scheduled_at_idx on accounts (deletion_scheduled_at)
  where deletion_scheduled_at is not null;
create index users_deletion_requested_at_idx on users (deletion_requested_at) where deletion_requested_at is not null;

-- Set when the body of the event was rewritten while the delivery was on its way: what is answered to it may repeat
-- the body as it was, and is not kept.
alter table webhook_deliveries add column is_redacted boolean not null default false;

-- Nobody becomes a member, and so an owner, whose erasure has begun. Whoever asks before writing asks too early: the
-- lock waits for a beginning erasure, and a beginning erasure for the lock, and then sees the membership.
create function refuse_member_in_erasure() returns trigger
language plpgsql
as $$
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
$$;

create trigger memberships_user_stays before insert or update of role on memberships
  for each row execute function refuse_member_in_erasure();
