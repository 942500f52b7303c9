-- Rows of tokens name their account: the boards of a token, and the stored answers of keyed requests. And an event gets
-- the column from which its body is made when it is delivered.
--
-- The next migrations give every key of a table of an account the account, so that no two accounts can ever be mixed:
-- 0015 builds the indexes, 0016 has the functions, 0017 and 0018 add the foreign keys, and 0019 replaces the old keys. A
-- server of the version before answers meanwhile and afterwards. What is there for it alone is marked "for the version
-- before".

-- Every request of the Agent API reads user_blocks before its transaction, and not in it. So new requests wait here, and
-- those that are under way can end.
lock table user_blocks in access exclusive mode;
lock table idempotency_keys, api_token_boards, events in access exclusive mode;

alter table api_token_boards add column account_id bigint;
alter table idempotency_keys add column account_id bigint;

-- For the version before, which writes these rows without the account.
create function set_account_of_token() returns trigger
language plpgsql
as $$
begin
  if new.account_id is null then
    select t.account_id into new.account_id from api_tokens t where t.id = new.token_id;
  end if;
  return new;
end
$$;
create trigger api_token_boards_set_account before insert on api_token_boards
  for each row execute function set_account_of_token();
create trigger idempotency_keys_set_account before insert on idempotency_keys
  for each row execute function set_account_of_token();

-- Once they are valid, `set not null` need not read the tables.
alter table api_token_boards add constraint api_token_boards_has_account check (account_id is not null) not valid;
alter table idempotency_keys add constraint idempotency_keys_has_account check (account_id is not null) not valid;

-- The data of the event's body, with the columns of ideas as they were. Null in events that the version before recorded.
alter table events add column data jsonb;
