import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { seededRandom } from '../../server/demo/seeded-random.ts';

export interface SeedSize {
  ideas: number;
  votes: number;
}

export interface Seed {
  tokens: string[];
  ideaIds: number[];
  words: string[];
}

const tokenCount = 64;

/**
 * Fills a migrated, empty database with one account and one board. Two calls with the same size create the same data,
 * except for the tokens and the times.
 */
export async function seed(client: pg.Client, size: SeedSize): Promise<Seed> {
  const words = makeWords();
  const secrets = Array.from({ length: tokenCount }, () => randomBytes(32).toString('base64url'));
  const hashes = secrets.map(secret => createHash('sha256').update(secret).digest());
  await client.query('select setseed(0.5)');
  await client.query(people);
  await client.query(insertTokens, [hashes]);
  await client.query(board);
  await client.query(makeTitles);
  await client.query(insertTitles, [words, size.ideas]);
  await client.query(makeVotes, [size.ideas, size.votes]);
  await client.query(insertIdeas, [size.ideas]);
  await client.query(rest);
  await client.query('vacuum analyze');
  const published = await client.query<{ ids: number[] }>(
    `select array_agg(id::integer) as ids from ideas where moderation_state = 'published' and merged_into_id is null`,
  );
  const tokens = await client.query<{ id: string }>('select id from api_tokens order by id');
  return {
    tokens: tokens.rows.map(({ id }, index) => `ib_${id}_${secrets[index]}`),
    ideaIds: published.rows[0]?.ids ?? [],
    words,
  };
}

/** Creates an owner who issues the tokens, 500 authors and 50,000 voters. */
const people = `
insert into accounts (slug, name) values ('bench', 'Bench');
insert into users (email, name) select 'person' || n || '@example.com', 'Person ' || n from generate_series(1, 501) n;
insert into memberships (account_id, user_id, role) select 1, 1, 'owner';
insert into voters (account_id) select 1 from generate_series(1, 50000);`;

const insertTokens = `
with made as (
  insert into api_tokens (account_id, issuer_id, voter_id, name, secret_hash)
  select 1, 1, position, 'token ' || position, hash from unnest($1::bytea[]) with ordinality as given (hash, position)
  order by position
  returning id
)
insert into api_token_boards (account_id, token_id, board_id, level) select 1, id, 1, 'write' from made`;

const board = `
insert into boards (account_id, slug, name) values (1, 'bench', 'Bench');
insert into statuses (account_id, board_id, key, category, label, position)
select 1, 1, key, category, key, position
from (values
  (0, 'open', 'inbox'), (1, 'planned', 'planned'), (2, 'in_progress', 'active'),
  (3, 'done', 'completed'), (4, 'declined', 'declined'), (5, 'archived', 'archived')
) as defaults (position, key, category) order by position;
insert into tags (account_id, board_id, name, color)
select 1, 1, name, '#0f766e'
from unnest(array['billing', 'mobile', 'export', 'search', 'performance', 'design', 'api', 'security']) name;`;

const makeTitles = 'create temporary table titles (idea_id bigint, title text)';

/**
 * A title has three to nine words. The frequency of the n-th most common word is proportional to 1/n, as in real texts.
 */
const insertTitles = `
insert into titles
with vocabulary as (
  select word, position from unnest($1::text[]) with ordinality as given (word, position)
),
draws as materialized (
  select idea_id, floor(power(cardinality($1::text[]), random()))::bigint as position
  from generate_series(1, $2::bigint) idea_id, generate_series(1, 3 + (hashint8(idea_id) & 7) * 6 / 7)
)
select idea_id, string_agg(word, ' ') from draws join vocabulary using (position) group by idea_id`;

/** A few ideas have thousands of votes, and most ideas have only a few votes. */
const makeVotes = `
create temporary table ballots as
select idea_id, voter_id, case when random() < 0.85 then 1 else -1 end as value
from (
  select distinct
    -- The multiplication modulo a prime distributes the popular ideas over the whole board.
    1 + (floor(power(random(), 3) * $1::bigint)::bigint * 7919) % $1::bigint as idea_id,
    1 + floor(random() * 50000)::bigint as voter_id
  from generate_series(1, $2::bigint * 11 / 10)
) drawn
limit $2::bigint`;

/**
 * Creates ideas whose dates are spread over two years. One idea in a hundred awaits approval. More than half of the
 * ideas have the status `open`.
 */
const insertIdeas = `
insert into ideas (
  id, account_id, board_id, author_id, status_id, title, body, moderation_state, up_count, down_count, comment_count,
  created_at, updated_at
) overriding system value
select n, 1, 1, 2 + n % 500, (array[1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6])[1 + floor(random() * 11)::integer],
  title, left(repeat(title || '. ', 24), 100 + (hashint8(n) & 511)),
  case when n % 100 = 0 then 'pending' else 'published' end,
  coalesce(up_count, 0), coalesce(down_count, 0), greatest(0, floor(random() * 8 - 5)), created_at, created_at
from generate_series(1, $1::bigint) n
join titles on idea_id = n
left join (
  select idea_id, count(*) filter (where value = 1) as up_count, count(*) filter (where value = -1) as down_count
  from ballots group by idea_id
) tally using (idea_id)
cross join lateral (select now() - ($1::bigint - n + random()) * (interval '730 days' / $1::bigint) as created_at)
order by n`;

const rest = `
select setval(pg_get_serial_sequence('ideas', 'id'), max(id)) from ideas;
insert into votes (idea_id, voter_id, account_id, value) select idea_id, voter_id, 1, value from ballots
order by idea_id, voter_id;
insert into comments (account_id, idea_id, author_id, body)
select 1, i.id, 2 + (i.id + n) % 500, 'We would use this every week.'
from ideas i, generate_series(1, i.comment_count) n order by i.id, n;
insert into idea_tags (idea_id, tag_id, account_id)
select i.id, 1 + (hashint8(i.id) + n & 7), 1
from ideas i, generate_series(1, 1 + (i.id % 3)::integer) n where i.id % 5 < 2 order by 1, 2;`;

const wordCount = 20_000;

const onsets = [
  '',
  '',
  ...'b c d f g h j k l m n p r s t v w br ch cl cr dr fl fr gr pl pr qu sc sh sl sp st str th tr'.split(' '),
];
const nuclei = 'a e i o u a e i o ai ea ee ie io oa ou'.split(' ');
const codas = ['', '', '', '', 'n', 'r', 's', 't', 'l', 'm', 'd', 'ck', 'nd', 'ng', 'nt', 'rd', 'ss', 'st'];
const endings = ['', '', '', 's', 'ed', 'er', 'ing', 'ion', 'ment', 'ly'];

/**
 * Makes an artificial vocabulary, the most common word first. The vocabulary is the same in every run. As in natural
 * language, common words are short, and some prefixes are frequent. A search for a prefix costs more if many words have
 * this prefix.
 */
function makeWords(): string[] {
  const random = seededRandom(20_000);
  const pick = (parts: readonly string[]) => parts[Math.floor(random() ** 1.5 * parts.length)] as string;
  const words = new Set<string>();
  while (words.size < wordCount) {
    const syllables = 1 + Math.floor((words.size / wordCount) * 2 + random() * 1.5);
    let word = '';
    for (let count = 0; count < syllables; count++) word += pick(onsets) + pick(nuclei) + pick(codas);
    words.add(word + pick(endings));
  }
  return [...words];
}
