-- Links by which people sign in or sign up, and the setting who may join an account.

-- Who may join the account without an invitation. With 'domains', people who confirm an address of one of the domains.
alter table accounts
  add column join_rule text not null default 'invited',
  -- The domains in their canonical form (server/domain/accounts/join-rule.ts). They are empty with any other rule.
  add column join_domains text[] not null default '{}',
  add constraint accounts_join_rule_check check (join_rule in ('invited', 'domains', 'everybody')),
  add constraint accounts_join_domains_check
    check (cardinality(join_domains) <= 20 and (join_rule = 'domains') = (cardinality(join_domains) > 0));

-- The canonical form of the address that the user has confirmed by a mailed link. If the address of the user changes, also
-- in a server of the previous version, the two differ and the new address is not confirmed.
alter table users add column confirmed_email text;

-- A mailed link holds a token, and the row its SHA-256. The row is deleted when the link is used.
create table sign_in_links (
  token_hash bytea not null constraint sign_in_links_pkey primary key,
  -- The user to sign in. Null for a link that signs a new person up.
  user_id bigint constraint sign_in_links_user_id_fkey references users on delete cascade,
  -- The account that a new person joins. Null for a link that signs a user in.
  account_id bigint,
  -- The address that got the link.
  email text not null,
  canonical_email text not null,
  -- The path of the page that opens after the sign-in.
  next text not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint sign_in_links_token_hash_check check (octet_length(token_hash) = 32),
  constraint sign_in_links_account_id_check check ((user_id is null) = (account_id is not null)),
  constraint sign_in_links_expires_at_check check (expires_at > created_at)
);

-- A new password or address of the user, and the erasure of the user.
create index sign_in_links_user_id_idx on sign_in_links (user_id) where user_id is not null;
-- The erasure of a user, which also removes links that were mailed before the user signed up.
create index sign_in_links_canonical_email_idx on sign_in_links (canonical_email);
-- The erasure of an account.
create index sign_in_links_account_id_idx on sign_in_links (account_id) where account_id is not null;
-- The clean-up of expired rows.
create index sign_in_links_expires_at_idx on sign_in_links (expires_at);
