-- no transaction
-- An import also remembers the external ids of notes.
--
-- The previous version runs on the new schema. Its exports leave the notes out.

alter table external_ids drop constraint external_ids_kind_check, add constraint external_ids_kind_check check (
  kind = any (array['person', 'board', 'status', 'tag', 'idea', 'comment', 'note', 'voter', 'merge'])
) not valid;
-- next statement
alter table external_ids validate constraint external_ids_kind_check;
