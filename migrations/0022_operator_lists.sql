-- no transaction
-- Indexes for the operator's panel, which searches all accounts and lists the webhooks that do not work. These tables
-- change all the time, so the indexes are built concurrently. If a run failed, the next run drops its remains first.

-- The search for accounts by the beginning of the name or of the slug.
drop index concurrently if exists accounts_name_beginning_idx;
-- next statement
create index concurrently accounts_name_beginning_idx on accounts (lower(name) text_pattern_ops);
-- next statement
drop index concurrently if exists accounts_slug_beginning_idx;
-- next statement
create index concurrently accounts_slug_beginning_idx on accounts (slug text_pattern_ops);
-- next statement
-- The failing and the disabled webhooks, which are few.
drop index concurrently if exists webhook_endpoints_in_trouble_idx;
-- next statement
create index concurrently webhook_endpoints_in_trouble_idx on webhook_endpoints (account_id, id)
  where failing_since is not null or disabled_at is not null;
