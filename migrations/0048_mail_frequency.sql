-- no transaction
-- How often a person gets notifications by mail: immediately, or as a daily or weekly summary.
--
-- The previous version runs on the new schema. Its workers mail each notification immediately.

alter table users add column if not exists mail_frequency text not null default 'immediately';
-- next statement
alter table users drop constraint if exists users_mail_frequency_check;
-- next statement
alter table users add constraint users_mail_frequency_check
  check (mail_frequency = any (array['immediately', 'daily', 'weekly'])) not valid;
-- next statement
alter table users validate constraint users_mail_frequency_check;
-- next statement
-- The people who get summaries.
drop index concurrently if exists users_mail_frequency_id_idx;
-- next statement
create index concurrently users_mail_frequency_id_idx on users (mail_frequency, id)
  where mail_frequency <> 'immediately';
