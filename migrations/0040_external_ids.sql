-- The ids that the rows of an account had in the file of an import. With them, an import can be repeated or continued
-- without duplicates, and an export writes the same ids again.
--
-- The previous version runs on the new schema, because it does not use the new table.

create table external_ids (
  account_id bigint not null,
  kind text not null,
  external_id text not null,
  -- The id of the row, for every kind except person. It has no foreign key: if somebody deletes the row, the entry stays,
  -- so that a repeated import does not bring the row back.
  row_id bigint,
  user_id bigint,
  constraint external_ids_pkey primary key (account_id, kind, external_id),
  constraint external_ids_account_id_fkey foreign key (account_id) references accounts (id) on delete cascade,
  constraint external_ids_user_id_fkey foreign key (user_id) references users (id) on delete cascade,
  constraint external_ids_kind_check check (
    kind = any (array['person', 'board', 'status', 'tag', 'idea', 'comment', 'voter', 'merge'])
  ),
  constraint external_ids_external_id_check check (char_length(external_id) between 1 and 200),
  constraint external_ids_row_check check (
    (kind = 'person') = (user_id is not null) and (kind = 'person') = (row_id is null)
  )
);
-- The export looks up the external ids of its rows.
create index external_ids_row_id_idx on external_ids (account_id, kind, row_id) where row_id is not null;
-- The export looks up the external ids of people, and the erasure of a user removes them.
create index external_ids_user_id_idx on external_ids (user_id, account_id) where user_id is not null;
