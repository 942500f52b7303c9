-- Notes about ideas, which only moderators can read.
--
-- The previous version runs on the new schema. It does not know the new table. So its clean-up cannot erase a user who has
-- written notes: the last statement of the erasure fails, and the next clean-up of the new version completes the erasure.

create table idea_notes (
  account_id bigint not null constraint idea_notes_account_id_fkey references accounts on delete cascade,
  id bigint generated always as identity,
  idea_id bigint not null,
  author_id bigint not null constraint idea_notes_author_id_fkey references users,
  body text not null,
  created_at timestamptz(3) not null default now(),
  -- The time of the last edit.
  edited_at timestamptz(3),
  constraint idea_notes_pkey primary key (account_id, id),
  constraint idea_notes_idea_id_fkey foreign key (account_id, idea_id) references ideas (account_id, id) on delete cascade,
  constraint idea_notes_body_check check (char_length(body) between 1 and 2000)
);
-- The notes about an idea, oldest first.
create index idea_notes_idea_id_id_idx on idea_notes (account_id, idea_id, id);
-- The erasure of a person, and the export of their data.
create index idea_notes_author_id_id_idx on idea_notes (author_id, id);
