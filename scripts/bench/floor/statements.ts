/**
 * The SQL of the floor, a minimal server that the benchmark compares with ours. Each connection prepares each statement
 * once.
 */

/**
 * Parameters: $1 token id, $2 token hash, $3 key of the rate limit counter, $4 start of its window, $5 end of its
 * window.
 */
export const authenticate = `
  with token as materialized (
    select t.id, t.secret_hash, t.voter_id, t.issuer_id, t.account_id, g.board_id
    from api_tokens t join api_token_boards g on g.account_id = t.account_id and g.token_id = t.id
    where t.id = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
  ),
  charged as (
    insert into rate_limits as r (key, window_started_at, expires_at, count)
    select $3::text, $4::timestamptz, $5::timestamptz, 1 from token where secret_hash = $2
    on conflict (key) do update
      set count = case when r.window_started_at = excluded.window_started_at then r.count + 1 else 1 end,
          window_started_at = excluded.window_started_at,
          expires_at = excluded.expires_at
    returning count
  )
  select token.id as token_id, token.secret_hash, token.voter_id, token.issuer_id as user_id, token.account_id,
    token.board_id, charged.count
  from token left join charged on true`;

/**
 * The SQL expressions for the fields of an idea, with the field names of the API. `i` is the alias of the table
 * `ideas`. $1 is the account and $3 the reader's voter id.
 */
const fields = `
  i.id, i.title, i.body, false as body_truncated,
  case s.category when 'inbox' then 'open' when 'active' then 'in_progress' when 'completed' then 'done'
    else s.category end as status,
  s.key as status_key, s.category as status_category, s.label as status_label, i.moderation_state,
  i.score, i.up_count, i.down_count, i.comment_count,
  case v.value when 1 then 'up' when -1 then 'down' else 'none' end as my_vote,
  coalesce((
    select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name), t.id)
    from idea_tags it join tags t on t.account_id = $1 and t.id = it.tag_id
    where it.account_id = $1 and it.idea_id = i.id
  ), '[]') as tags,
  json_build_object('id', u.id, 'name', u.name) as author,
  i.merged_into_id, i.created_at, i.updated_at, 'http://localhost:3000/b/board/ideas/' || i.id as url`;

const joins = `
  join statuses s on s.account_id = $1 and s.id = i.status_id
  join users u on u.id = i.author_id
  left join votes v on v.account_id = $1 and v.idea_id = i.id and v.voter_id = $3`;

/** Parameters: $1 account, $2 board, $3 voter, $4 idea. */
export const selectIdea = `
  select ${fields} from ideas i ${joins}
  where i.account_id = $1 and i.id = $4 and i.board_id = $2 and i.moderation_state = 'published'`;

/**
 * Parameters: $1 account, $2 board, $3 voter. The query reads one row more than a page, to find out whether another
 * page follows.
 */
export const listIdeas = newestIdeas('');

/**
 * Parameters: those of listIdeas, and $4 the search text. PostgreSQL plans this statement for each search text, because
 * a rare word needs another index than a frequent word.
 */
export const searchIdeas = newestIdeas('and i.title_words @@ words_query($4)');

function newestIdeas(filter: string): string {
  return `
  select ${fields}
  from (
    select newest.id, newest.created_at
    from statuses shown cross join lateral (
      select i.id, i.created_at from ideas i
      where i.account_id = $1 and i.status_id = shown.id and i.moderation_state = 'published' and i.merged_into_id is null
        ${filter}
      order by i.created_at desc, i.id desc
      limit 21
    ) newest
    where shown.account_id = $1 and shown.board_id = $2 and not shown.is_hidden
    order by newest.created_at desc, newest.id desc
    limit 21
  ) page
  join ideas i on i.account_id = $1 and i.id = page.id ${joins}
  order by page.created_at desc, page.id desc`;
}

/** Parameters: $1 account, $2 board, $3 voter, $4 title, $5 body. */
export const similarIdeas = `
  select ${fields}, round(found.similarity::numeric, 3)::float8 as similarity
  from similar_ideas($1, $2, $4, $5) found join ideas i on i.account_id = $1 and i.id = found.idea_id ${joins}
  where i.board_id = $2 and i.moderation_state = 'published' and i.merged_into_id is null and not s.is_hidden
  order by found.similarity desc, i.score desc, i.id desc
  limit 10`;

/** Parameters: $1 account, $2 board, $3 voter, $4 idea, $5 value. Returns no row if the vote is not allowed. */
export const castVote = 'select up_count, down_count from floor_vote($1, $2, $3, $4, $5)';

/**
 * Defines a database function that casts a vote without the product's rules: it has no error keys and no merged votes.
 * The function has several statements, and each statement sees all earlier commits (read committed). A single statement
 * would not see commits that happen while the statement waits for the idea's lock.
 */
export const defineVote = `
create or replace function floor_vote(
  p_account_id bigint, p_board_id bigint, p_voter_id bigint, p_idea_id bigint, p_value integer
)
returns table (up_count integer, down_count integer) language plpgsql as $$
#variable_conflict use_column
declare
  v_old integer;
begin
  perform from ideas i join statuses s on s.account_id = p_account_id and s.id = i.status_id
   where i.account_id = p_account_id and i.id = p_idea_id and i.board_id = p_board_id and i.moderation_state = 'published'
     and i.merged_into_id is null and s.allow_votes
     for no key update of i;
  if not found then
    return;
  end if;

  select v.value into v_old
    from votes v where v.account_id = p_account_id and v.idea_id = p_idea_id and v.voter_id = p_voter_id;
  if v_old is null and p_value <> 0 then
    insert into votes (idea_id, voter_id, account_id, value) values (p_idea_id, p_voter_id, p_account_id, p_value);
  elsif p_value = 0 then
    delete from votes where account_id = p_account_id and idea_id = p_idea_id and voter_id = p_voter_id;
  else
    update votes set value = p_value where account_id = p_account_id and idea_id = p_idea_id and voter_id = p_voter_id;
  end if;

  return query update ideas i
     set up_count = i.up_count + (p_value = 1)::integer - coalesce(v_old = 1, false)::integer,
         down_count = i.down_count + (p_value = -1)::integer - coalesce(v_old = -1, false)::integer
   where i.account_id = p_account_id and i.id = p_idea_id
  returning i.up_count, i.down_count;
end $$`;
