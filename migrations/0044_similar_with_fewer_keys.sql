-- Searches for similar ideas faster on large boards. With a million ideas, a search takes 0.6 to 0.9 times the CPU time. It
-- finds an idea by the words of its title in another order more often than before: in 8 of 10 searches instead of 7.
--
-- A search no longer reads the typing keys of a word that it finds without them. Each word has up to 8 keys, and most of
-- the ideas with the word have all of them. A search also knows more common words, which it does not look up, and reads the
-- statistics once.
--
-- The previous version runs on the new schema.

-- The default of 100 names the 1,000 most common terms, which are mostly typing keys. With a million ideas, these terms are
-- in at least 3,900 ideas. With 200, the statistics name terms in at least 2,000 ideas.
alter table idea_terms alter column terms set statistics 200;
analyze idea_terms;

-- Finds the published ideas of a board that are similar to a title and a body. The similarity is from 0 to 1: the similarity
-- of the trigrams of both titles, or a weighted mean with the share of the words that the idea contains. A rare word counts
-- more than a common word. A merged idea counts as its target.
--
-- Each of the first 12 words finds at most 200 ideas with an index, or 60 ideas if the word is only in the body. If a word of
-- the title finds fewer than 60 ideas, its typing keys find at most 200 further ideas. A common word or key finds no ideas,
-- because that takes too long. Instead, the two rarest common words of the title find ideas with both of them, if probably
-- few ideas have both. If there is no such search, the newest 2,000 ideas of the account are searched for all words of the
-- title. The 60 ideas with the most and rarest words are compared with the text.
create or replace function similar_ideas(p_account_id bigint, p_board_id bigint, p_title text, p_body text)
returns table (idea_id bigint, similarity double precision)
language plpgsql stable
-- PostgreSQL does not know the words when it makes the plan, so a new plan for each call would not be better.
set plan_cache_mode = force_generic_plan
as $$
declare
  v_language text;
  v_title text;
  v_board text := p_board_id || ':';
  v_keys text := v_board || '-';
  v_terms text[];
  v_frequencies real[];
  v_total real;
begin
  select b.language into v_language from boards b where b.account_id = p_account_id and b.id = p_board_id;
  v_title := array_to_string(tsvector_to_array(to_tsvector('idea_search', normalize(p_title, nfkc))), ' ');
  -- The most common terms of all boards, and the number of ideas. Reads them into variables, because that is faster than a
  -- part of the statement.
  select s.most_common_elems::text::text[], s.most_common_elem_freqs, c.reltuples into v_terms, v_frequencies, v_total
    from pg_class c
    left join pg_stats s on s.schemaname = current_schema() and s.tablename = 'idea_terms' and s.attname = 'terms'
   where c.oid = 'idea_terms'::regclass;

  return query
  with recursive common_words as materialized (
    -- The estimated number of ideas with each of the most common words of the board.
    select u.term, u.frequency * v_total as idea_count
      from unnest(v_terms, v_frequencies) as u (term, frequency)
     where starts_with(u.term, v_board) and not starts_with(u.term, v_keys)
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
    select f.place, f.word, f.in_title, format('%L:*', f.prefix)::tsquery as query, c.idea_count,
      c.idea_count > 2000 as is_common
      from (
        select row_number() over (order by p.in_title desc, p.place) as place, p.word, v_board || p.beginning as prefix,
          p.in_title
          from (
            select t.*, true as in_title from title_parts t
            union all
            select b.*, false from body_parts b
          ) p
         order by 1
         limit 12
      ) f
     cross join lateral (
       select coalesce(sum(t.idea_count), 0) as idea_count from common_words t where starts_with(t.term, f.prefix)
     ) c
  ),
  word_hits as materialized (
    select w.place, h.id
      from words w
     cross join lateral (
       select t.idea_id as id from idea_terms t
        -- The cast prevents the use of the primary key. Without statistics, PostgreSQL would choose it and read the terms of
        -- all ideas of the account.
        where t.account_id = p_account_id::numeric and t.terms @@ w.query
        limit case when w.in_title then 200 else 60 end
     ) h
     where not w.is_common
  ),
  key_searches as (
    select w.place, (
        select string_agg(format('%L', v_board || k.key), ' | ')
          from unnest(typo_keys(array[w.word])) as k (key)
         where v_board || k.key not in (
           select u.term from unnest(v_terms, v_frequencies) as u (term, frequency)
            where starts_with(u.term, v_keys) and u.frequency * v_total > 2000
         )
      )::tsquery as query
      from words w
      left join (select h.place, count(*) as hit_count from word_hits h group by h.place) c on c.place = w.place
     where w.in_title and not w.is_common and coalesce(c.hit_count, 0) < 60
  ),
  pair_search as materialized (
    select w.place, format('%L & %L', v_board || w.word, v_board || o.word)::tsquery as query
      from words w
      join words o on o.place > w.place
     where w.in_title and w.is_common and o.in_title and o.is_common
       and w.idea_count * o.idea_count / greatest(v_total, 1) <= 2000
     order by w.idea_count * o.idea_count
     limit 1
  ),
  hits as materialized (
    select w.place, w.id from word_hits w
    union
    select s.place, h.id
      from (table key_searches union all table pair_search) s
     cross join lateral (
       select t.idea_id as id from idea_terms t
        where t.account_id = p_account_id::numeric and t.terms @@ s.query
        limit 200
     ) h
    union all
    select 1, n.id
      from (
        select i.id, i.board_id, i.moderation_state, i.title_words
          from ideas i
         where i.account_id = p_account_id
           and not exists (select from words w where not w.is_common) and not exists (table pair_search)
         order by i.id desc
         limit 2000
      ) n
     where n.board_id = p_board_id and n.moderation_state = 'published'
       and ts_match_vq(n.title_words, (select prefix_query(array_agg(t.beginning)) from title_parts t))
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
    select i.id, similarity(v_title, array_to_string(tsvector_to_array(i.title_words), ' ')) as title_similarity, t.terms
      from candidates c
      join ideas i on i.account_id = p_account_id and i.id = c.id
      join idea_terms t on t.account_id = p_account_id and t.idea_id = c.id
  ),
  weights as materialized (
    select w.query,
      ln(1 + m.total / (1 + m.matching)::double precision) * case when w.in_title then 2 else 1 end as weight
      from words w
     cross join lateral (
       select count(*) as total, count(*) filter (where c.terms @@ w.query) as matching from compared c
     ) m
  ),
  scores as materialized (
    select c.id,
      greatest(c.title_similarity, 0.4 * c.title_similarity + 0.6 * coalesce(s.share, 0))::double precision as score
      from compared c
     cross join lateral (
       select sum(w.weight) filter (where c.terms @@ w.query) / sum(w.weight) as share from weights w
     ) s
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
