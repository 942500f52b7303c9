import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
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
  await client.query(makeTables);
  await client.query(insertTitles, [words, size.ideas]);
  await client.query(insertBallots, [size.ideas, size.votes]);
  const { host, port, user, password, database } = client;
  const secondClient = new pg.Client({ host, port, user, password, database });
  await secondClient.connect();
  try {
    await Promise.all([fillVotes(secondClient), fillIdeas(client, size.ideas)]);
  } finally {
    await secondClient.end();
  }
  await client.query(dropTables);
  await client.query('vacuum analyze');
  await checkTerms(client);
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

async function fillVotes(client: pg.Client) {
  await withoutIndexes(client, ['votes'], () => client.query(insertVotes));
}

async function fillIdeas(client: pg.Client, count: number) {
  await withoutIndexes(client, ['ideas', 'idea_terms', 'comments', 'idea_tags'], async () => {
    await client.query(insertIdeas, [count]);
    await client.query(insertDetails);
  });
}

/**
 * Runs `insertRows` while the tables have no indexes, except for those of their constraints. PostgreSQL builds an index
 * of existing rows much faster.
 */
async function withoutIndexes(client: pg.Client, tables: string[], insertRows: () => Promise<unknown>) {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index join pg_class on pg_class.oid = indrelid
    where relname = any($1) and not exists (select from pg_constraint where conindid = indexrelid)`,
    [tables],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  await insertRows();
  for (const { definition } of rows) await client.query(definition);
}

/** Compares some of the inserted terms with those of the server's function, which is too slow for a million ideas. */
async function checkTerms(client: pg.Client) {
  const { rows } = await client.query(
    `select id from ideas i join idea_terms t on t.idea_id = i.id
    where id <= 200 and terms <> case when moderation_state = 'published'
      then similar_terms(board_id, title_words, body) else '' end`,
  );
  if (rows.length > 0) throw new Error('The terms of the ideas differ from the terms of the function similar_terms.');
}

/** Creates 64 owners who issue one token each, 437 authors and 50,000 voters. */
const people = `
insert into accounts (slug, name) values ('bench', 'Bench');
insert into users (email, name) select 'person' || n || '@example.com', 'Person ' || n from generate_series(1, 501) n;
insert into memberships (account_id, user_id, role) select 1, n, 'owner' from generate_series(1, ${tokenCount}) n;
insert into voters (account_id) select 1 from generate_series(1, 50000);`;

const insertTokens = `
with made as (
  insert into api_tokens (account_id, issuer_id, voter_id, name, secret_hash)
  select 1, position, position, 'token ' || position, hash from unnest($1::bytea[]) with ordinality as given (hash, position)
  order by position
  returning id
)
insert into api_token_boards (account_id, token_id, board_id, level) select 1, id, 1, 'moderate' from made`;

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

const makeTables = `
create unlogged table bench_titles (idea_id bigint, title text, terms tsvector);
create unlogged table bench_ballots (idea_id bigint, voter_id bigint, value smallint);
create aggregate bench_union (tsvector) (sfunc = tsvector_concat, stype = tsvector)`;

const dropTables = 'drop aggregate bench_union (tsvector); drop table bench_titles, bench_ballots';

/**
 * A title has three to nine words. The frequency of the n-th most common word is proportional to 1/n, as in real texts.
 * The terms of an idea are the terms of its words.
 */
const insertTitles = `
insert into bench_titles
with vocabulary as materialized (
  select word, position, similar_terms(1, to_tsvector('idea_search', word), '') as terms
  from unnest($1::text[]) with ordinality as given (word, position)
),
draws as materialized (
  select idea_id, floor(power(cardinality($1::text[]), random()))::bigint as position
  from generate_series(1, $2::bigint) idea_id, generate_series(1, 3 + (hashint8(idea_id) & 7) * 6 / 7)
)
select idea_id, string_agg(word, ' '), bench_union(terms) from draws join vocabulary using (position) group by idea_id`;

/** A few ideas have thousands of votes, and most ideas have only a few votes. */
const insertBallots = `
insert into bench_ballots
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
select n, 1, 1, ${tokenCount + 1} + n % 437, (array[1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6])[1 + floor(random() * 11)::integer],
  -- The words of the body are the words of the title, as insertTitles assumes.
  title, repeat(title || '. ', (100 + (hashint8(n) & 511)) / char_length(title) + 1),
  case when n % 100 = 0 then 'pending' else 'published' end,
  coalesce(up_count, 0), coalesce(down_count, 0), greatest(0, floor(random() * 8 - 5)), created_at, created_at
from generate_series(1, $1::bigint) n
join bench_titles on idea_id = n
left join (
  select idea_id, count(*) filter (where value = 1) as up_count, count(*) filter (where value = -1) as down_count
  from bench_ballots group by idea_id
) tally using (idea_id)
cross join lateral (select now() - ($1::bigint - n + random()) * (interval '730 days' / $1::bigint) as created_at) dates
order by n`;

const insertVotes = `
insert into votes (idea_id, voter_id, account_id, value) select idea_id, voter_id, 1, value from bench_ballots
order by idea_id, voter_id`;

/** Triggers do not run while a benchmark fills the database, so the statement also inserts the rows of `idea_terms`. */
const insertDetails = `
select setval(pg_get_serial_sequence('ideas', 'id'), max(id)) from ideas;
insert into idea_terms (account_id, idea_id, terms)
select 1, id, case when moderation_state = 'published' then terms else '' end
from ideas join bench_titles on idea_id = id order by id;
insert into comments (account_id, idea_id, author_id, body)
select 1, i.id, ${tokenCount + 1} + (i.id + n) % 437, 'We would use this every week.'
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
