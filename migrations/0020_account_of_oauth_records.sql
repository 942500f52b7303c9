-- An OAuth record that has a token names the token's account.

alter table oauth_records add column account_id bigint;

-- For the version before, which writes these records without the account.
create trigger oauth_records_set_account before insert on oauth_records
  for each row execute function set_account_of_token();

update oauth_records r set account_id = t.account_id from api_tokens t where t.id = r.token_id;
-- Since 0019 no foreign key removes the records of a token that is gone. They give no access.
delete from oauth_records where token_id is not null and account_id is null;
alter table oauth_records
  add constraint oauth_records_account_id_check check ((account_id is null) = (token_id is null));
