-- The pictures of people. The path of a person's picture is in users.avatar_url.
--
-- The previous version runs on the new schema, but shows no pictures.

create table pictures (
  user_id bigint not null constraint pictures_pkey primary key
    constraint pictures_user_id_fkey references users on delete cascade,
  -- Random text in the picture's path. A new picture has a new key, so browsers can keep a picture without asking again.
  key text not null constraint pictures_key_key unique,
  -- A WebP file that the server made from the uploaded picture.
  content bytea not null,
  constraint pictures_key_check check (key ~ '^[A-Za-z0-9_-]{22}$'),
  constraint pictures_content_check check (octet_length(content) between 1 and 65536)
);
