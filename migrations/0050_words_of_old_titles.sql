-- no transaction
-- Stores the words of the titles from before the previous migration, batch by batch. Until then, the search misses some ideas
-- whose titles have signs between words.
--
-- The previous version runs on the new schema.

do $$
declare
  v_after_account bigint := 0;
  v_after_id bigint := 0;
  v_count int;
begin
  loop
    with batch as materialized (
      select account_id, id from ideas
       where (account_id, id) > (v_after_account, v_after_id)
       order by account_id, id
       limit 2000
    ),
    -- Locks the ideas in the order in which the servers lock ideas, so that there is no deadlock.
    outdated as materialized (
      select i.account_id, i.id
        from ideas i join batch b on b.account_id = i.account_id and b.id = i.id
       where i.title_words <> search_words(i.title)
       order by i.account_id, i.id
         for no key update of i
    ),
    changed as (
      update ideas i set title_words = search_words(i.title)
        from outdated o
       where i.account_id = o.account_id and i.id = o.id
      returning i.account_id, i.id, i.board_id, i.title, i.body, i.moderation_state
    ),
    compared as (
      update idea_terms t set terms = similar_terms(c.board_id, search_words(c.title), c.body)
        from changed c
       where t.account_id = c.account_id and t.idea_id = c.id and c.moderation_state = 'published'
    )
    select max(b.account_id), max(b.id) filter (where b.account_id = l.account_id), count(*)
      into v_after_account, v_after_id, v_count
      from batch b cross join (select max(account_id) as account_id from batch) l;
    exit when v_count = 0;
    commit;
  end loop;
end
$$;
