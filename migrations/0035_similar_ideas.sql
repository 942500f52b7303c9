-- no transaction
-- The search for similar ideas, and the language of a board.
--
-- The previous version runs on the new schema. It still searches titles with similar_words_query.

-- Compares texts by their trigrams.
create extension if not exists pg_trgm;
-- next statement
-- The language of the ideas on a board: the name of a text search configuration of PostgreSQL.
alter table boards add column if not exists language text not null default 'simple';
-- next statement
alter table boards drop constraint if exists boards_language_check;
-- next statement
alter table boards add constraint boards_language_check check (language in (
  'simple', 'arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish', 'french', 'german', 'greek',
  'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian', 'portuguese', 'romanian',
  'russian', 'serbian', 'spanish', 'swedish', 'tamil', 'turkish', 'yiddish'
)) not valid;
-- next statement
alter table boards validate constraint boards_language_check;
-- next statement
-- The keys of words: the beginning of each word, and the beginning without each of its letters. Two words with one typing
-- error between them have a key in common: a wrong, missing or additional letter, or two letters in the wrong order. A minus
-- sign distinguishes keys from words.
create or replace function typo_keys(words text[]) returns text[]
language sql immutable parallel safe strict
return array(
  select '-' || case n when 0 then left(word, 7) else overlay(left(word, 7) placing '' from n for 1) end
    from unnest(words) as w (word)
   cross join generate_series(0, 7) n
   where char_length(word) >= 4 and n <= char_length(word)
);
-- next statement
-- The terms of an idea: the words of its title and of the beginning of its body, and the keys of the words of its title. Each
-- term begins with the id of the board, so that a search reads only entries of its board. The terms do not depend on the
-- language of the board, so the language may change at any time.
create or replace function similar_terms(board_id bigint, title_words tsvector, body text) returns tsvector
language sql immutable parallel safe strict
return array_to_tsvector(array(
  select board_id || ':' || t.term
    from unnest(
      tsvector_to_array(title_words || to_tsvector('idea_search', normalize(left(body, 1000), nfkc)))
        || typo_keys(tsvector_to_array(title_words))
    ) as t (term)
   -- A term of a tsvector has at most 2046 bytes.
   where octet_length(t.term) <= 1000
));
-- next statement
-- The terms of ideas for the search for similar ideas. They have their own table, because PostgreSQL would write a column or an index of ideas
-- again with each vote.
create table if not exists idea_terms (
  account_id bigint not null,
  idea_id bigint not null,
  terms tsvector not null,
  constraint idea_terms_pkey primary key (account_id, idea_id),
  constraint idea_terms_idea_id_fkey foreign key (account_id, idea_id) references ideas (account_id, id) on delete cascade
);
-- next statement
create or replace function keep_idea_terms() returns trigger
language plpgsql
as $$
begin
  -- An idea that is not published has no terms.
  insert into idea_terms (account_id, idea_id, terms)
  values (new.account_id, new.id, case when new.moderation_state = 'published'
    then similar_terms(new.board_id, new.title_words, new.body) else '' end)
  on conflict (account_id, idea_id) do update set terms = excluded.terms;
  return null;
end
$$;
-- next statement
create or replace trigger ideas_keep_terms after insert or update of title, body, moderation_state on ideas
  for each row execute function keep_idea_terms();
-- next statement
-- The trigger has already stored the terms of an idea that has changed since the statement began.
insert into idea_terms (account_id, idea_id, terms)
select i.account_id, i.id, similar_terms(i.board_id, i.title_words, i.body)
  from ideas i
 where i.moderation_state = 'published'
   for key share
on conflict (account_id, idea_id) do nothing;
-- next statement
drop index concurrently if exists idea_terms_terms_idx;
-- next statement
create index concurrently idea_terms_terms_idx on idea_terms using gin (terms) with (gin_pending_list_limit = 64);
-- next statement
analyze idea_terms;
-- next statement
-- The distinct words of a text by their first place, with the part that their inflected forms share. Stop words of common
-- languages are left out.
create or replace function similar_words(p_text text, p_language text)
returns table (word text, beginning text, place bigint)
language sql stable parallel safe
begin atomic
  with tokens as (
    select lower(t.token) as token, min(t.place) as place
      from ts_parse('default', normalize(p_text, nfkc)) with ordinality as t (tokid, token, place)
     where t.tokid in (1, 2, 3, 9, 10, 11, 20, 21, 22)
     group by 1
  ),
  folded as (
    select f.word, f.stem, t.place
      from tokens t
     cross join lateral (
       select (tsvector_to_array(to_tsvector('idea_search', t.token)))[1] as word,
         (tsvector_to_array(to_tsvector('idea_search', coalesce(
           (tsvector_to_array(to_tsvector(p_language::regconfig, t.token)))[1], ''
         ))))[1] as stem
     ) f
     where f.stem is not null and not exists (
       select from unnest(array[
         'english_stem', 'german_stem', 'french_stem', 'spanish_stem', 'portuguese_stem', 'italian_stem', 'dutch_stem'
       ]::regdictionary[]) as d (dictionary)
        where ts_lexize(d.dictionary, t.token) = '{}'
     )
  )
  select f.word,
    left(f.word, greatest(
      least(3, char_length(f.word)),
      -- A stem may end with another letter than the word, for example "stori" for "story".
      case when starts_with(f.word, f.stem) then char_length(f.stem) else char_length(f.stem) - 1 end
        - case when char_length(f.word) >= 6 and p_language = 'simple' then 2 else 0 end
    )),
    min(f.place)
    from folded f
   group by 1, 2;
end;
-- next statement
-- Finds the published ideas of a board that are similar to a title and a body. The similarity is from 0 to 1: the similarity
-- of the trigrams of both titles, or a weighted mean with the share of the words that the idea contains. A rare word counts
-- more than a common word. A merged idea counts as its target.
--
-- Each word finds at most 300 ideas with an index. A word in very many ideas does not, because that takes too long. Instead,
-- two such words of the title find the ideas with both of them. The 60 ideas with the most and rarest words are compared
-- with the text.
create or replace function similar_ideas(p_account_id bigint, p_board_id bigint, p_title text, p_body text)
returns table (idea_id bigint, similarity double precision)
language plpgsql stable
-- The best plan depends on the words.
set plan_cache_mode = force_custom_plan
as $$
declare
  v_language text;
  v_title text;
  v_board text := p_board_id || ':';
begin
  select b.language into v_language from boards b where b.account_id = p_account_id and b.id = p_board_id;
  v_title := array_to_string(tsvector_to_array(to_tsvector('idea_search', normalize(p_title, nfkc))), ' ');

  return query
  with recursive common_terms as materialized (
    -- The estimated number of ideas with each of the most common terms of the index.
    select u.term, u.frequency * c.reltuples as idea_count
      from pg_stats s
      join pg_class c on c.oid = 'idea_terms'::regclass
     cross join unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as u (term, frequency)
     where s.schemaname = current_schema() and s.tablename = 'idea_terms' and s.attname = 'terms'
       and u.term is not null
  ),
  title_parts as materialized (
    select w.beginning, min(w.word) as word, min(w.place) as place from similar_words(p_title, v_language) w group by 1
  ),
  body_parts as (
    select w.beginning, min(w.word) as word, min(w.place) as place
      from similar_words(left(p_body, 1000), v_language) w
     where w.beginning not in (select t.beginning from title_parts t)
     group by 1
  ),
  words as materialized (
    select row_number() over (order by f.in_title desc, f.place) as place, f.word, f.in_title,
      prefix_query(array[f.beginning]) as query, prefix_query(array[v_board || f.beginning]) as board_query,
      coalesce((select sum(t.idea_count) from common_terms t where starts_with(t.term, v_board || f.beginning)), 0) > 3000 as is_common
      from (
        select t.*, true as in_title from title_parts t
        union all
        select b.*, false from body_parts b
      ) f
     order by 1
     limit 16
  ),
  searches as materialized (
    select w.place, case when w.in_title then (
      select coalesce(string_agg(format('%L', v_board || k.key), ' | ') || ' | ', '') || w.board_query::text
        from unnest(typo_keys(array[w.word])) as k (key)
    )::tsquery else w.board_query end as query
    from words w where not w.is_common
    union all
    (
      select w.place, format('%L & %L', v_board || w.word, v_board || o.word)::tsquery
        from words w join words o on o.place > w.place
       where w.in_title and w.is_common and o.in_title and o.is_common
       order by w.place, o.place
       limit 6
    )
  ),
  hits as materialized (
    select s.place, h.id
      from searches s
     cross join lateral (
       select t.idea_id as id from idea_terms t
        -- The cast prevents the use of the primary key. Without statistics, PostgreSQL would choose it and read the terms of
        -- all ideas of the account.
        where t.account_id = p_account_id::numeric and t.terms @@ s.query
        limit 300
     ) h
  ),
  candidates as materialized (
    select h.id
      from hits h
      join (
        select f.place, 1 / ln(2 + count(*)::double precision) as rarity from hits f group by f.place
      ) w on w.place = h.place
     group by h.id
     order by sum(w.rarity) desc, h.id desc
     limit 60
  ),
  compared as materialized (
    select i.id, similarity(v_title, array_to_string(tsvector_to_array(i.title_words), ' ')) as title_similarity,
      i.title_words || to_tsvector('idea_search', normalize(left(i.body, 1000), nfkc)) as terms
      from candidates c join ideas i on i.account_id = p_account_id and i.id = c.id
  ),
  matches as (
    select c.id, w.place, w.in_title, c.terms @@ w.query as is_match from compared c cross join words w
  ),
  weights as (
    select m.place, ln(1 + count(*) / (1 + count(*) filter (where m.is_match))::double precision) * case when m.in_title then 2 else 1 end as weight
      from matches m group by m.place, m.in_title
  ),
  shares as (
    select m.id, sum(w.weight) filter (where m.is_match) / sum(w.weight) as share
      from matches m join weights w on w.place = m.place group by m.id
  ),
  scores as materialized (
    select c.id,
      greatest(c.title_similarity, 0.4 * c.title_similarity + 0.6 * coalesce(s.share, 0))::double precision as score
      from compared c join shares s on s.id = c.id
  ),
  targets as (
    select s.id, s.score from scores s
    union
    select i.merged_into_id, t.score
      from targets t join ideas i on i.account_id = p_account_id and i.id = t.id
     where i.merged_into_id is not null
  )
  select t.id, max(t.score) from targets t where t.score >= 0.2 group by t.id;
end
$$;
