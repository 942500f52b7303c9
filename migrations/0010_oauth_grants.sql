-- Grants of OAuth: which refresh token issued another one, and an end for those whose person has left.
--
-- The version before this one runs on the new schema: it leaves the new column null, which links no tokens.

-- A grant acts as a person, and used to outlive the membership.
update api_tokens t set revoked_at = now()
where t.kind = 'oauth' and t.revoked_at is null and (
  not exists (select from memberships m where m.account_id = t.account_id and m.user_id = t.issuer_id)
  or exists (select from user_blocks b where b.account_id = t.account_id and b.user_id = t.issuer_id)
);

-- The id_hash of the refresh token that issued this one. Null where a code did. A foreign key would have to be set null
-- when the older token expires.
alter table oauth_records add column parent_hash bytea;
