-- The search finds each word of a title, also words around a slash, a period, an @ or another sign without spaces. Before,
-- the parser of PostgreSQL took texts such as "import/export", "Node.js" and "2026-01-15" as one file, host or number.
--
-- The previous version runs on the new schema. A trigger fills the column title_words, which was a generated column before:
-- to change the expression of a generated column, PostgreSQL would rewrite the whole table.

-- A text whose words are separated by spaces, for the parser of PostgreSQL.
create function search_text(p_text text) returns text
language sql immutable strict parallel safe
return regexp_replace(translate(normalize(p_text, nfkc), '/.@<>&:+', '        '), '-(?=[0-9])', ' ', 'g');

-- The words of a text, for the search.
create function search_words(p_text text) returns tsvector
language sql immutable strict parallel safe
return to_tsvector('idea_search', search_text(p_text));

create or replace function words_query(q text) returns tsquery
language sql immutable strict parallel safe
return prefix_query(tsvector_to_array(search_words(q)));

create or replace function index_words_query(q text) returns tsquery
language sql immutable strict parallel safe
return prefix_query(array(
  select lexeme
  from (
    select lexeme, row_number() over (order by char_length(lexeme) desc, lexeme) as place
    from unnest(tsvector_to_array(search_words(q))) lexeme
  ) words
  where char_length(lexeme) >= 3 or place = 1
));

alter table ideas alter column title_words drop expression, alter column title_words set default '';

create function keep_title_words() returns trigger
language plpgsql
as $$
begin
  new.title_words := search_words(new.title);
  return new;
end
$$;

create trigger ideas_keep_title_words before insert or update of title on ideas
  for each row execute function keep_title_words();
-- The trigger also runs in sessions that skip other triggers, such as those of a bulk import, because a title always has words.
alter table ideas enable always trigger ideas_keep_title_words;
