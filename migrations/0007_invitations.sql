-- Invitations to become a member of an account, and lists of the members of large ones.

-- One for each address and account: whoever is invited again gets another link, and the one before is void. It is gone
-- once it is accepted or revoked; what became of it is in the audit log.
create table invitations (
  id bigint generated always as identity constraint invitations_pkey primary key,
  account_id bigint not null constraint invitations_account_id_fkey references accounts on delete cascade,
  -- As it was typed.
  email text not null,
  role text not null,
  -- Null for the operator of the server. An invitation stands as long as whoever made it may make it.
  inviter_id bigint constraint invitations_inviter_id_fkey references users on delete cascade,
  -- The link holds a token, and the row its SHA-256. Null until the worker makes the link, when it mails it.
  token_hash bytea,
  -- Handed over by the inviter, still to be mailed, mailed, or refused by the mail server.
  delivery text not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint invitations_role_check check (role in ('owner', 'admin', 'moderator', 'member')),
  constraint invitations_delivery_check check (delivery in ('by_hand', 'waiting', 'mailed', 'refused')),
  constraint invitations_token_hash_check check (octet_length(token_hash) = 32),
  constraint invitations_expires_at_check check (expires_at > created_at)
);

-- The address comes first: erasure looks for it in all accounts.
create unique index invitations_email_account_id_key on invitations (lower(email), account_id);
-- Following a link.
create unique index invitations_token_hash_key on invitations (token_hash);
-- The open invitations of an account, newest first.
create index invitations_account_id_id_idx on invitations (account_id, id desc);
-- Erasure.
create index invitations_inviter_id_idx on invitations (inviter_id) where inviter_id is not null;
-- The clean-up of what has expired.
create index invitations_expires_at_idx on invitations (expires_at);

-- From here on, indexes of tables to which nothing is written by what people do on boards: while they are built, a second
-- for a million rows, somebody may wait who signs up or gets another role.

-- The members of an account by their role, a page at a time; and whether it has another owner.
create index memberships_account_id_role_idx on memberships (account_id, role, user_id);

-- The search of members by the beginning of a name or an address. Of a beginning that many have, PostgreSQL reads the
-- list above until a page is full; of one that few have, it finds them here.
create index users_email_beginning_idx on users (lower(email) text_pattern_ops);
create index users_name_beginning_idx on users (lower(name) text_pattern_ops);
