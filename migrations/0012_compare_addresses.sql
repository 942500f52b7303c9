-- no transaction
-- How the canonical form of e-mail addresses is searched, and kept while servers of the version before run.

-- The version before relies on this index for uniqueness. It finds addresses by users_email_beginning_idx too. lower()
-- makes U+0130 an i in many locales: nobody keeps an address with an i from its owner by one with that letter.
--
-- It is made before the next index, so that PostgreSQL names it for a taken address: the version before knows that name.
drop index concurrently if exists users_email_new_key;
-- next statement
create unique index concurrently users_email_new_key on users (lower(replace(email, U&'\0130', U&'\0001')));
-- next statement
drop index concurrently if exists users_email_key;
-- next statement
alter index users_email_new_key rename to users_email_key;
-- next statement

-- Sign-in, links to set a password and the command line find a user by address.
drop index concurrently if exists users_canonical_email_key;
-- next statement
create unique index concurrently users_canonical_email_key on users (canonical_email);
-- next statement
-- One invitation of an address to an account; and the address in all accounts.
drop index concurrently if exists invitations_canonical_email_account_id_key;
-- next statement
create unique index concurrently invitations_canonical_email_account_id_key on invitations (canonical_email, account_id);
-- next statement
-- What the server has to fill, at its start and every ten minutes.
drop index concurrently if exists users_without_canonical_email_idx;
-- next statement
create index concurrently users_without_canonical_email_idx on users (id)
  where canonical_email is null and not is_placeholder;
-- next statement
-- The same, and erasure.
drop index concurrently if exists invitations_without_canonical_email_idx;
-- next statement
create index concurrently invitations_without_canonical_email_idx on invitations (email) where canonical_email is null;
-- next statement

-- Servers of the version before write the address alone. Of an address in ASCII the form is plain. Any other waits for the
-- server, and so does one that this version writes in a new spelling without the form.
create or replace function set_canonical_email() returns trigger
language plpgsql
as $$
begin
  if tg_op = 'INSERT' then
    if new.canonical_email is not null then
      return new;
    end if;
  elsif new.email is not distinct from old.email or new.canonical_email is distinct from old.canonical_email then
    return new;
  end if;
  new.canonical_email := case
    when octet_length(new.email) = char_length(new.email) and char_length(new.email) <= 254
    then regexp_replace(lower(new.email collate "C"), '\.+$', '')
  end;
  return new;
end
$$;
-- next statement
create or replace trigger users_set_canonical_email before insert or update of email on users
  for each row execute function set_canonical_email();
-- next statement
create or replace trigger invitations_set_canonical_email before insert or update of email on invitations
  for each row execute function set_canonical_email();
