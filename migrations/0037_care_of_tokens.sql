-- no transaction
-- The rotation of tokens, own limits, allowed networks, notices before the expiry, and the last use.
--
-- The previous version runs on the new schema. During the upgrade, its servers accept only the newest secret of a token, and
-- ignore own limits and allowed networks.

alter table api_tokens
  add column if not exists previous_secret_hash bytea,
  add column if not exists previous_secret_expires_at timestamptz(3),
  add column if not exists read_limit integer,
  add column if not exists write_limit integer,
  add column if not exists allowed_networks cidr[] not null default '{}',
  add column if not exists expiry_notice_days integer,
  add column if not exists last_used_network cidr,
  add column if not exists last_used_client text;
-- next statement
alter table api_tokens
  drop constraint if exists api_tokens_previous_secret_check,
  drop constraint if exists api_tokens_read_limit_check,
  drop constraint if exists api_tokens_write_limit_check,
  drop constraint if exists api_tokens_allowed_networks_check,
  drop constraint if exists api_tokens_last_used_client_check;
-- next statement
-- All existing rows pass these checks, because the columns are new.
alter table api_tokens
  add constraint api_tokens_previous_secret_check check (
    octet_length(previous_secret_hash) = 32 and (previous_secret_hash is null) = (previous_secret_expires_at is null)
  ) not valid,
  add constraint api_tokens_read_limit_check check (read_limit > 0) not valid,
  add constraint api_tokens_write_limit_check check (write_limit > 0) not valid,
  add constraint api_tokens_allowed_networks_check check (cardinality(allowed_networks) <= 20) not valid,
  add constraint api_tokens_last_used_client_check check (char_length(last_used_client) <= 50) not valid;
-- next statement
alter table api_tokens validate constraint api_tokens_previous_secret_check;
-- next statement
alter table api_tokens validate constraint api_tokens_read_limit_check;
-- next statement
alter table api_tokens validate constraint api_tokens_write_limit_check;
-- next statement
alter table api_tokens validate constraint api_tokens_allowed_networks_check;
-- next statement
alter table api_tokens validate constraint api_tokens_last_used_client_check;
-- next statement
-- The job that announces the expiry of tokens.
drop index concurrently if exists api_tokens_expires_at_idx;
-- next statement
create index concurrently api_tokens_expires_at_idx on api_tokens (expires_at) where kind = 'api' and revoked_at is null;
-- next statement
-- The job that removes old networks of tokens.
drop index concurrently if exists api_tokens_last_used_network_idx;
-- next statement
create index concurrently api_tokens_last_used_network_idx on api_tokens (last_used_at) where last_used_network is not null;
