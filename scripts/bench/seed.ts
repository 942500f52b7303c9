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
const voterCount = 50_000;
const wordCount = 20_000;
/** The tables that the benchmarks fill with many rows. */
const largeTables = ['ideas', 'idea_terms', 'votes', 'comments', 'idea_tags'];
/** The number of ideas that one transaction inserts. */
const batchSize = 20_000;

/**
 * Fills a migrated, empty database with one account and one board. The session must not run ordinary triggers. Two calls with
 * the same size create the same data, except for the tokens and the times.
 */
export async function seed(client: pg.Client, size: SeedSize): Promise<Seed> {
  const words = makeWords();
  const secrets = Array.from({ length: tokenCount }, () => randomBytes(32).toString('base64url'));
  const hashes = secrets.map(secret => createHash('sha256').update(secret).digest());
  await client.query(people);
  await client.query(insertTokens, [hashes]);
  await client.query(board);
  await client.query(makeVocabulary);
  await client.query(insertVocabulary, [words]);
  const { host, port, user, password, database } = client;
  const secondClient = new pg.Client({ host, port, user, password, database });
  await secondClient.connect();
  try {
    await fillLargeTables([client, secondClient], size);
  } finally {
    await secondClient.end();
  }
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

/** Reads the titles of about a thousand published ideas. Begins with id 1, because every hundredth idea is pending. */
export async function readTitles(client: pg.Client, ideas: number): Promise<string[]> {
  const { rows } = await client.query<{ title: string }>(
    `select title from ideas where (id - 1) % greatest(1, $1::bigint / 1000) = 0 and moderation_state = 'published'`,
    [ideas],
  );
  return rows.map(({ title }) => title);
}

/** Fills the tables without their indexes, because PostgreSQL builds an index of existing rows much faster. */
async function fillLargeTables(clients: [pg.Client, pg.Client], { ideas, votes }: SeedSize) {
  const [client] = clients;
  const { rows: indexes } = await client.query<{ remove: string; create: string }>(selectIndexes, [largeTables]);
  for (const { remove } of indexes) await client.query(remove);
  const now = new Date();
  for (const each of clients) await each.query(makeDrawn);
  await share(clients, range(1, ideas, batchSize), async (each, from) => {
    const to = Math.min(ideas, from + batchSize - 1);
    await each.query('select setseed($1)', [from / ideas]);
    await each.query(drawIdeas, [from, to, ideas, votes, now]);
    await each.query(insertDrawn);
  });
  await client.query(`select setval(pg_get_serial_sequence('ideas', 'id'), max(id)) from ideas`);
  for (const each of clients) await each.query('drop table drawn');
  await client.query(dropVocabulary);
  await share(clients, indexes, (each, { create }) => each.query(create));
  const { rows: tables } = await client.query<{ name: string }>(selectTables);
  await share(clients, tables, (each, { name }) => each.query(`vacuum analyze ${name}`));
}

/** Runs `work` for each item. Each client begins with the next item when it has finished one. */
async function share<Item>(
  clients: pg.Client[],
  items: Item[],
  work: (client: pg.Client, item: Item) => Promise<unknown>,
) {
  const remaining = items.values();
  await Promise.all(
    clients.map(async client => {
      for (const item of remaining) await work(client, item);
    }),
  );
}

function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.ceil((to - from + 1) / step) }, (_, index) => from + index * step);
}

/**
 * Selects the statements that remove and create the indexes of tables. Leaves out the primary and unique keys of tables
 * to which foreign keys refer.
 */
const selectIndexes = `
select format('alter table %s drop constraint %I', conrelid::regclass, conname) as remove,
  format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as create
from pg_constraint made
where conrelid = any($1::regclass[]) and contype in ('p', 'u')
  and not exists (select from pg_constraint where confrelid = made.conrelid)
union all
select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
from pg_index
where indrelid = any($1::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)
order by 1`;

const selectTables = `
select oid::regclass::text as name from pg_class
where relkind = 'r' and relnamespace = current_schema()::regnamespace
order by relpages desc`;

/** Compares the terms of 200 ideas with the results of the server's function, which is too slow for a million ideas. */
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
insert into voters (account_id) select 1 from generate_series(1, ${voterCount});`;

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

/** Stores the search terms of each word. The terms of an idea are the terms of all its words. */
const makeVocabulary = `
create unlogged table vocabulary (position bigint, word text, terms tsvector);
create aggregate union_of_terms (tsvector) (sfunc = tsvector_concat, stype = tsvector)`;

const insertVocabulary = `
insert into vocabulary
select position, word, similar_terms(1, to_tsvector('idea_search', word), '')
from unnest($1::text[]) with ordinality as given (word, position)`;

const dropVocabulary = 'drop aggregate union_of_terms (tsvector); drop table vocabulary';

/**
 * A temporary table that holds the ideas of one batch until the statement insertDrawn inserts them into the table
 * ideas.
 */
const makeDrawn = `
create temporary table drawn (
  id bigint, title text, body text, terms tsvector, moderation_state text, up_count integer, down_count integer,
  comment_count integer, created_at timestamptz
)`;

/**
 * A title has three to nine words. The frequency of the n-th most common word is proportional to 1/n, as in real texts.
 * The body repeats the title, so it has the same terms. One idea in a hundred awaits approval. A few ideas have
 * thousands of votes, and most ideas have only a few votes. The dates are spread over two years.
 */
const drawIdeas = `
insert into drawn
with draws as materialized (
  select id, floor(power(${wordCount}, random()))::bigint as position
  from generate_series($1::bigint, $2::bigint) id, generate_series(1, 3 + (hashint8(id) & 7) * 6 / 7)
),
titles as materialized (
  select id, string_agg(word, ' ') as title, union_of_terms(terms) as terms
  from draws join vocabulary using (position)
  group by id
)
select id, title, repeat(title || '. ', (100 + (hashint8(id) & 511)) / char_length(title) + 1), terms,
  case when id % 100 = 0 then 'pending' else 'published' end,
  up_count, vote_count - up_count, greatest(0, floor(random() * 8 - 5)),
  $5::timestamptz - ($3::bigint - id + random()) * (interval '730 days' / $3::bigint)
from titles
-- The multiplication modulo a prime distributes the popular ideas over the whole board.
cross join lateral (select 1 + id * 2147483647 % $3::bigint as rank) ranks
cross join lateral (
  select (round($4::bigint * sqrt(rank / $3::float8)) - round($4::bigint * sqrt((rank - 1) / $3::float8)))::integer
    as vote_count
) vote_counts
cross join lateral (select floor(vote_count * 0.85 + random())::integer as up_count) up_counts`;

/**
 * More than half of the ideas have the status \`open\`. The trigger \`ideas_keep_terms\` does not run, so the statement
 * for \`idea_terms\` does the work of this trigger.
 */
const insertDrawn = `
insert into ideas (
  id, account_id, board_id, author_id, status_id, title, body, moderation_state, up_count, down_count, comment_count,
  created_at, updated_at
) overriding system value
select id, 1, 1, ${tokenCount + 1} + id % 437, (array[1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6])[1 + floor(random() * 11)::integer],
  title, body, moderation_state, up_count, down_count, comment_count, created_at, created_at
from drawn order by id;
insert into idea_terms (account_id, idea_id, terms)
select 1, id, case when moderation_state = 'published' then terms else '' end
from drawn order by id;
insert into votes (idea_id, voter_id, account_id, value)
select id, 1 + (n - 1) * step + floor(random() * step), 1, case when n <= up_count then 1 else -1 end
from (select *, ${voterCount} / greatest(up_count + down_count, 1) as step from drawn order by id) sorted,
  generate_series(1, up_count + down_count) n;
insert into comments (account_id, idea_id, author_id, body)
select 1, id, ${tokenCount + 1} + (id + n) % 437, 'We would use this every week.'
from drawn, generate_series(1, comment_count) n order by id, n;
insert into idea_tags (idea_id, tag_id, account_id)
select id, 1 + (hashint8(id) + n & 7), 1
from drawn, generate_series(1, 1 + (id % 3)::integer) n where id % 5 < 2 order by 1, 2;
truncate drawn`;

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
