-- Identities of people at OpenID Connect providers of an account, or in the application that embeds its boards.
--
-- The previous version runs on the new schema, but does not know which sessions are bound to an account. The cookies of
-- such sessions and challenges have a prefix, so the previous version does not accept them.

-- The OpenID Connect providers of an account. People sign in to the account there.
create table identity_providers (
  account_id bigint not null constraint identity_providers_account_id_fkey references accounts on delete cascade,
  id bigint generated always as identity,
  -- A random text in the address of the sign-in, so that nobody can list the providers of a server.
  key text not null,
  -- The name on the button, such as the name of a company.
  name text not null,
  issuer text not null,
  client_id text not null,
  -- Encrypted with the application key.
  client_secret bytea not null,
  -- Whether all people of the provider may join the account. Otherwise the setting of the account decides.
  admits_everybody boolean not null default false,
  created_at timestamptz(3) not null default now(),
  constraint identity_providers_pkey primary key (account_id, id),
  constraint identity_providers_name_check check (char_length(name) between 1 and 60)
);
-- The start of a sign-in, which knows only the key.
create unique index identity_providers_key_key on identity_providers (key);

-- A person at a provider. The row says which user the person signs in as, in this account alone.
create table identities (
  account_id bigint not null constraint identities_account_id_fkey references accounts on delete cascade,
  id bigint generated always as identity,
  -- Null for the application that embeds the boards of the account.
  provider_id bigint,
  -- The name of the person at the provider (the claim sub). It never changes.
  subject text not null,
  user_id bigint not null constraint identities_user_id_fkey references users on delete cascade,
  -- The verified address that the provider last asserted. Null if it asserted none.
  address text,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  constraint identities_pkey primary key (account_id, id),
  constraint identities_provider_id_fkey foreign key (account_id, provider_id)
    references identity_providers (account_id, id) on delete cascade,
  constraint identities_subject_check check (octet_length(subject) between 1 and 255)
);
-- The sign-in of a person.
create unique index identities_subject_key on identities (account_id, subject, coalesce(provider_id, 0));
-- The deletion of a provider.
create index identities_provider_id_idx on identities (account_id, provider_id);
-- The profile, the export and the erasure of a user.
create index identities_user_id_idx on identities (user_id);

-- The identity that began a session, or a sign-in that waits for a code. Such a session reaches only the account of the
-- identity, and ends with the identity. Both columns are null for an ordinary session. There is no foreign key, because
-- an account may move to another database, and a session does not.
alter table sessions
  add column account_id bigint,
  add column identity_id bigint;
alter table sign_in_challenges
  add column account_id bigint,
  add column identity_id bigint;

-- The erasure of an account.
create index sessions_account_id_idx on sessions (account_id) where account_id is not null;
create index sign_in_challenges_account_id_idx on sign_in_challenges (account_id) where account_id is not null;

-- Whether members, except owners, reach the account only in sessions that an identity of the account began.
alter table accounts add column requires_provider boolean not null default false;
