import { expect } from 'vitest';
import type { TestDatabase } from './database.ts';

/**
 * Returns an SQL condition that is true if the vote counts. A vote that a merge has copied counts only until the merge
 * is undone.
 */
const countsAsVote = (vote: string) =>
  `(${vote}.carried_from_id is null or exists (
    select from ideas origin
    where origin.account_id = ${vote}.account_id and origin.id = ${vote}.carried_from_id
      and origin.merged_into_id = ${vote}.idea_id
  ))`;

/** Rules that the data must always obey. Each rule has a query that returns the rows that violate the rule. */
const invariants: Record<string, string> = {
  'a tally is the sum of the votes': `
    select i.id, i.up_count, i.down_count, count(*) filter (where v.value = 1) as ups,
      count(*) filter (where v.value = -1) as downs
    from ideas i left join votes v on v.account_id = i.account_id and v.idea_id = i.id and ${countsAsVote('v')}
    group by i.account_id, i.id
    having i.up_count <> count(*) filter (where v.value = 1) or i.down_count <> count(*) filter (where v.value = -1)
      or i.score <> i.up_count - i.down_count`,
  'a voter has at most one vote on an idea': `
    select idea_id, voter_id, count(*) from votes group by idea_id, voter_id having count(*) > 1`,
  'a comment count is the number of comments': `
    select i.id, i.comment_count from ideas i
    where i.comment_count <> (
      select count(*) from comments c where c.account_id = i.account_id and c.idea_id = i.id
    )`,
  'two consecutive comments have different authors': `
    select id from (
      select id, idea_id, author_id, is_official, lag(author_id) over comments_of_idea as previous,
        lag(id) over comments_of_idea as previous_id
      from comments
      window comments_of_idea as (partition by idea_id order by id)
    ) c where author_id = previous
      -- An official reply may follow a comment by the same user.
      and not is_official
      -- A comment between the two may have been deleted. The event of the deleted comment still exists.
      and not exists (
        select from events e
        where e.idea_id = c.idea_id and e.type = 'comment.created'
          and (e.body -> 'data' -> 'comment' ->> 'id')::bigint > previous_id
          and (e.body -> 'data' -> 'comment' ->> 'id')::bigint < c.id
      )
      -- All erased users share one placeholder, so its comments may be from different users.
      and author_id not in (select id from users where is_placeholder)`,
  'the author of a comment follows the idea': `
    select c.idea_id, c.author_id from comments c
    where not exists (
        select from followers f
        where f.account_id = c.account_id and f.idea_id = c.idea_id and f.user_id = c.author_id
      )
      and c.author_id not in (select id from users where is_placeholder)`,
  'a merge in force and merged_into_id name the same idea': `
    select i.id, i.merged_into_id from ideas i
    where i.merged_into_id is distinct from (
      select m.target_id from merges m
      where m.account_id = i.account_id and m.source_id = i.id and m.unmerged_at is null
    )`,
  'merged ideas form no cycle': `
    with recursive chain as (
      select id as start, merged_into_id as next, 1 as depth from ideas where merged_into_id is not null
      union all
      select c.start, i.merged_into_id, c.depth + 1 from chain c join ideas i on i.id = c.next
      where c.next is not null and c.depth < 100
    )
    select start from chain where next = start or depth >= 100`,
  'a merge joins two published ideas of one board': `
    select s.id from ideas s join ideas t on t.id = s.merged_into_id
    where s.board_id <> t.board_id or s.moderation_state <> 'published' or t.moderation_state <> 'published'`,
  'a carried vote equals the vote on the merged idea': `
    select v.idea_id, v.voter_id from votes v
    left join votes source
      on source.idea_id = v.carried_from_id and source.voter_id = v.voter_id and ${countsAsVote('source')}
    -- Skips votes that a future merge has already copied and that do not count yet.
    where v.carried_from_id is not null and ${countsAsVote('v')}
      and (source.value is distinct from v.value or v.value = 0)`,
  'a vote on a merged idea has a vote of the same voter on the target': `
    select v.idea_id, v.voter_id from votes v join ideas i on i.id = v.idea_id
    where i.merged_into_id is not null and v.value <> 0 and ${countsAsVote('v')}
      and not exists (
        select from votes w
        where w.account_id = v.account_id and w.idea_id = i.merged_into_id and w.voter_id = v.voter_id
          and ${countsAsVote('w')}
      )`,
  'a withdrawn vote exists only on the target of a merge': `
    select v.idea_id, v.voter_id from votes v
    where v.value = 0 and not exists (
      select from ideas i where i.account_id = v.account_id and i.merged_into_id = v.idea_id
    )`,
  'all rows of an idea belong to its account': `
    select 'votes' as what, v.idea_id from votes v join ideas i on i.id = v.idea_id where v.account_id <> i.account_id
    union all
    select 'comments', c.idea_id from comments c join ideas i on i.id = c.idea_id where c.account_id <> i.account_id
    union all
    select 'followers', f.idea_id from followers f join ideas i on i.id = f.idea_id where f.account_id <> i.account_id
    union all
    select 'merges', m.source_id from merges m join ideas i on i.id = m.source_id where m.account_id <> i.account_id
    union all
    select 'ideas', i.id from ideas i join boards b on b.id = i.board_id where i.account_id <> b.account_id`,
  'the tags of an idea belong to its board': `
    select it.idea_id, it.tag_id from idea_tags it
    join ideas i on i.id = it.idea_id join tags t on t.id = it.tag_id
    where t.board_id <> i.board_id or it.account_id <> i.account_id`,
  'no row refers to a deleted row': `
    select 'votes' as what, idea_id from votes where idea_id not in (select id from ideas)
      or voter_id not in (select id from voters)
    union all
    select 'comments', idea_id from comments where idea_id not in (select id from ideas)
      or author_id not in (select id from users)
    union all
    select 'followers', idea_id from followers where idea_id not in (select id from ideas)
    union all
    select 'idea_tags', idea_id from idea_tags where idea_id not in (select id from ideas)
      or tag_id not in (select id from tags)
    union all
    select 'tokens', id from api_tokens where voter_id not in (select id from voters)`,
};

const statement = Object.entries(invariants)
  .map(([name, query]) => `select '${name}' as name, (select jsonb_agg(r) from (${query}\n limit 10) r) as rows`)
  .join(' union all ');

/** Returns the violated invariants, each with up to ten rows that violate the invariant. */
export async function brokenInvariants({ sql }: Pick<TestDatabase, 'sql'>): Promise<Record<string, unknown[]>> {
  const checked = await sql<{ name: string; rows: unknown[] | null }>(statement);
  return Object.fromEntries(checked.flatMap(({ name, rows }) => (rows ? [[name, rows]] : [])));
}

export async function expectInvariants({ database }: Pick<TestDatabase, 'database'>) {
  // Uses a named statement, because each connection plans a named statement only once.
  const sql = async (text: string) => (await database.pool.query({ name: 'invariants', text })).rows;
  expect(await brokenInvariants({ sql })).toEqual({});
}
