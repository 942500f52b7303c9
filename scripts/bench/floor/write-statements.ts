/**
 * The SQL of the writes of the floor, a minimal server that the benchmark compares with ours. Each write is one call of
 * a database function. The function stores the same rows as our server: the change, the followers, and the event with
 * its deliveries and jobs. For events and merges, the function calls the same database functions as our server. It
 * checks no rules of the product, and ignores an Idempotency-Key.
 */

/** Parameters of each call: $1 account, $2 board, $3 user, $4 token, and the parameters of the request. */
export const calls = {
  create: 'select id from floor_create($1, $2, $3, $4, $5, $6) id',
  comment: 'select * from floor_comment($1, $2, $3, $4, $5, $6)',
  status: 'select id from floor_status($1, $2, $3, $4, $5, $6) id',
  tag: 'select id from floor_tag($1, $2, $3, $4, $5, $6) id',
  merge: 'select id from floor_merge($1, $2, $3, $4, $5, $6) id',
  unmerge: 'select id from floor_unmerge($1, $2, $3, $4, $5) id',
};

const caller = 'p_account_id bigint, p_board_id bigint, p_user_id bigint, p_token_id bigint';

/**
 * A PL/pgSQL statement that locks the row of an idea. PL/pgSQL then sets the variable `found` to whether the row
 * exists.
 */
const lockIdea = `perform from ideas i
   where i.account_id = p_account_id and i.id = p_idea_id and i.board_id = p_board_id and i.moderation_state = 'published'
     for no key update`;

const recordEvent = (type: string, idea: string, target: string, details: string) =>
  `perform record_event(p_account_id, '${type}', ${idea}, ${target}, p_user_id, p_token_id, ${details}, now())`;

const changeOf = (field: string, from: string, to: string) =>
  `jsonb_build_object('changes', json_build_array(json_build_object('field', '${field}', 'from', ${from}, 'to', ${to})))`;

const defineIdeaFunction = (name: string, parameters: string, declarations: string, body: string) => `
create or replace function ${name}(${caller}${parameters}) returns setof bigint language plpgsql as $$
#variable_conflict use_column
declare
  ${declarations}
begin
  ${body}
end $$;`;

const create = defineIdeaFunction(
  'floor_create',
  ', p_title text, p_body text',
  'v_id bigint;',
  `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, created_at, updated_at)
  select p_account_id, p_board_id, p_user_id, s.id, p_title, p_body, 'published', now(), now()
    from statuses s where s.account_id = p_account_id and s.board_id = p_board_id and s.category = 'inbox'
    order by s.position limit 1
  returning id into v_id;
  insert into followers (account_id, idea_id, user_id) values (p_account_id, v_id, p_user_id);
  ${recordEvent('idea.created', 'v_id', 'null', "'{}'")};
  return next v_id;`,
);

const comment = `
create or replace function floor_comment(${caller}, p_idea_id bigint, p_body text)
returns table (id bigint, idea_id bigint, body text, author json, created_at timestamptz, updated_at timestamptz, official boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  v_comment json;
begin
  update ideas i set comment_count = i.comment_count + 1
   where i.account_id = p_account_id and i.id = p_idea_id and i.board_id = p_board_id and i.moderation_state = 'published';
  if not found then
    return;
  end if;
  insert into comments as c (account_id, idea_id, author_id, body)
  values (p_account_id, p_idea_id, p_user_id, p_body)
  returning c.id, c.idea_id, c.body,
    (select json_build_object('id', u.id, 'name', u.name) from users u where u.id = p_user_id),
    c.created_at, c.created_at, false
  into id, idea_id, body, author, created_at, updated_at, official;
  insert into followers (account_id, idea_id, user_id) values (p_account_id, p_idea_id, p_user_id)
  on conflict do nothing;
  v_comment := json_build_object('id', id, 'idea_id', idea_id, 'body', body, 'author', author,
    'created_at', rfc3339(created_at), 'updated_at', rfc3339(created_at), 'official', official);
  ${recordEvent('comment.created', 'p_idea_id', 'null', "jsonb_build_object('comment', v_comment)")};
  return next;
end $$;`;

const status = defineIdeaFunction(
  'floor_status',
  ', p_idea_id bigint, p_key text',
  'v_old text;',
  `${lockIdea};
  if not found then
    return;
  end if;
  select s.key into v_old
    from ideas i join statuses s on s.account_id = p_account_id and s.id = i.status_id
   where i.account_id = p_account_id and i.id = p_idea_id;
  if v_old <> p_key then
    update ideas i set status_id = s.id, updated_at = now()
      from statuses s
     where i.account_id = p_account_id and i.id = p_idea_id
       and s.account_id = p_account_id and s.board_id = p_board_id and s.key = p_key;
    ${recordEvent('idea.status_changed', 'p_idea_id', 'null', changeOf('status_key', 'v_old', 'p_key'))};
  end if;
  return next p_idea_id;`,
);

const tag = defineIdeaFunction(
  'floor_tag',
  ', p_idea_id bigint, p_tag_id bigint',
  '',
  `${lockIdea};
  if not found then
    return;
  end if;
  insert into idea_tags (account_id, idea_id, tag_id) values (p_account_id, p_idea_id, p_tag_id) on conflict do nothing;
  if found then
    update ideas set updated_at = now() where account_id = p_account_id and id = p_idea_id;
    ${recordEvent('idea.tagged', 'p_idea_id', 'null', changeOf('tags', 'null', 'p_tag_id'))};
  end if;
  return next p_idea_id;`,
);

const lockPair = `perform from ideas i
   where i.account_id = p_account_id and i.id in (p_idea_id, v_target_id) and i.board_id = p_board_id
   order by i.id for no key update`;

const merge = defineIdeaFunction(
  'floor_merge',
  ', p_idea_id bigint, p_target_id bigint',
  'v_target_id bigint := p_target_id;',
  `${lockPair};
  perform from ideas i where i.account_id = p_account_id and i.id = p_idea_id and i.merged_into_id is null;
  if found then
    perform begin_merge(p_account_id, p_idea_id, p_target_id, now());
    ${recordEvent('idea.merged', 'p_idea_id', 'p_target_id', changeOf('merged_into_id', 'null', 'p_target_id'))};
  end if;
  return next p_idea_id;
  return next p_target_id;`,
);

const unmerge = defineIdeaFunction(
  'floor_unmerge',
  ', p_idea_id bigint',
  'v_target_id bigint;',
  `select i.merged_into_id into v_target_id from ideas i where i.account_id = p_account_id and i.id = p_idea_id;
  ${lockPair};
  return next p_idea_id;
  if v_target_id is null then
    return;
  end if;
  perform from ideas i where i.account_id = p_account_id and i.id = p_idea_id and i.merged_into_id = v_target_id;
  if found then
    perform end_merge(p_account_id, p_idea_id, v_target_id, now());
    ${recordEvent('idea.unmerged', 'p_idea_id', 'v_target_id', changeOf('merged_into_id', 'v_target_id', 'null'))};
  end if;
  return next v_target_id;`,
);

export const defineWrites = [create, comment, status, tag, merge, unmerge].join('\n');
