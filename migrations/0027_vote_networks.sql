-- The networks from which people voted in a browser, so that moderators see several votes from one network.
--
-- The previous version runs on the new schema, but records no networks.

create table vote_networks (
  account_id bigint not null,
  idea_id bigint not null,
  voter_id bigint not null,
  -- An HMAC-SHA-256 of the network under a key from the application key, shortened to 16 bytes.
  network bytea not null,
  expires_at timestamptz(3) not null,
  constraint vote_networks_pkey primary key (account_id, idea_id, voter_id),
  constraint vote_networks_vote_fkey foreign key (account_id, idea_id, voter_id) references votes on delete cascade,
  constraint vote_networks_network_check check (octet_length(network) = 16)
);

-- The newest votes of an idea.
create index vote_networks_idea_id_idx on vote_networks (account_id, idea_id, expires_at);
-- The erasure of a person.
create index vote_networks_voter_id_idx on vote_networks (account_id, voter_id);
-- The clean-up of expired rows.
create index vote_networks_expires_at_idx on vote_networks (expires_at);
