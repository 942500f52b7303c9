-- Finds titles with at least two of the six longest words of a title, or with its only word. Words of less than three
-- characters, such as "to", find too many titles, so they do not count. Words match by their beginning, as in a search.
create function similar_words_query(title text) returns tsquery
  language sql immutable parallel safe strict
return (
  with words as (
    select found.lexeme, row_number() over (order by char_length(found.lexeme) desc, found.lexeme) as place
      from unnest(tsvector_to_array(to_tsvector('idea_search', normalize(similar_words_query.title, nfkc)))) as found (lexeme)
     where char_length(found.lexeme) >= 3
  )
  select coalesce(
      string_agg(prefix_query(array[one.lexeme, other.lexeme])::text, ' | '),
      (select prefix_query(array_agg(words.lexeme))::text from words),
      ''
    )::tsquery
    from words one
    join words other on other.place > one.place
   where one.place <= 6 and other.place <= 6
);
