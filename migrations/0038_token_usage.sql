-- Which operations, parameters and body fields each token has used lately.
--
-- The previous version runs on the new schema, because it does not use the new table.

create table token_usage (
  account_id bigint not null,
  token_id bigint not null,
  operation text not null,
  request_count bigint not null,
  parameters jsonb not null,
  fields jsonb not null,
  first_used_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  constraint token_usage_pkey primary key (account_id, token_id, operation),
  constraint token_usage_token_id_fkey foreign key (account_id, token_id)
    references api_tokens (account_id, id) on delete cascade
-- Servers update the rows of active tokens several times a minute. With free space in a page, such an update writes no
-- index, because the indexed expires_at changes only once a day.
) with (fillfactor = 70);
-- For the deletion of expired rows, and for the list of the rows that were used last.
create index token_usage_expires_at_idx on token_usage (expires_at);
-- For the beginning of the count.
create index token_usage_first_used_at_idx on token_usage (first_used_at);
