import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type IdeaSort, ideaSorts } from '../../contract/idea.ts';
import { listIdeas } from '../../server/domain/ideas/list-ideas.ts';
import { enoughRows } from '../../server/domain/ideas/list-queries.ts';
import { type Conditions, keyOfForm, reaches } from '../../server/domain/ideas/walk.ts';
import {
  farQueries,
  firstPageQueries,
  keyOfSample,
  matchQueries,
  sampleQueries,
} from '../../server/domain/ideas/walk-queries.ts';
import type { ReadOperation } from '../../server/domain/operation.ts';
import { placeOf } from '../../server/domain/pagination.ts';
import { connect } from '../helpers/database.ts';
import { createTag, createWorld, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

/**
 * The number of ideas on the board. It is higher than the number of ideas that the server reads as a sample of a list
 * (`reaches.near`). It is also higher than the offset from which the server reads pages with `farQueries`.
 */
const ideaCount = 3 * reaches.near;

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'moderate');
const frequentTag = await createTag(server, world.accountId, world.boardId);
const rareTag = await createTag(server, world.accountId, world.boardId);

// Many ideas have the same sort key. No idea at the start of the list has the frequent tag or the word `some`.
await server.sql(`update statuses set is_hidden = key = 'declined' where board_id = ${world.boardId}`);
await server.sql(
  `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, up_count, comment_count,
    created_at, updated_at)
  select $1, $2, $3, (select id from statuses where board_id = $2 order by position offset n % 6 limit 1),
    'Idea ' || n || case when n > $4 / 2 and n % 3 = 0 then ' some' else '' end || case when n % 2 = 0 then ' even' else '' end
      || case when n % 97 = 0 then ' seldom' else '' end,
    'Text', case when n % 10 = 0 then 'pending' else 'published' end, ($4 - n) / 200, n % 7,
    timestamptz '2026-03-01' - (n / 5) * interval '1 hour', timestamptz '2026-03-01' + (n % 50) * interval '1 minute'
  from generate_series(1, $4::integer) n`,
  [world.accountId, world.boardId, world.ownerId, ideaCount],
);
await server.sql(
  `insert into idea_tags (account_id, idea_id, tag_id)
  select account_id, id, $2::bigint from ideas where board_id = $1 and created_at < '2026-02-23' and id % 4 = 0
  union all select account_id, id, $3::bigint from ideas where board_id = $1 and id % 211 = 0`,
  [world.boardId, frequentTag, rareTag],
);
// PostgreSQL needs statistics to find out which words are frequent.
await server.sql('analyze ideas');

interface Filter {
  sort?: IdeaSort | undefined;
  status_key?: string | undefined;
  moderation_state?: 'pending' | undefined;
  tag?: number | undefined;
  q?: string | undefined;
  created_before?: string | undefined;
}

const keys: Record<IdeaSort, string> = {
  newest: 'i.created_at',
  top: 'i.score',
  updated: 'i.updated_at',
  comments: 'i.comment_count',
  trending: 'idea_trend(i.score, i.created_at)',
};

/** Reads the ids of all ideas of a list with a simple query. */
async function readAll(filter: Filter): Promise<number[]> {
  const { sort = 'newest', status_key, moderation_state = 'published', tag, q = '', created_before } = filter;
  const rows = await server.sql<{ id: number }>(
    `select i.id from ideas i join statuses s on s.id = i.status_id
    where i.board_id = $1 and i.moderation_state = $2
      and case when $3::text is not null then s.key = $3 else $2 = 'pending' or not s.is_hidden end
      and ($4::bigint is null or i.id in (select idea_id from idea_tags where tag_id = $4))
      and i.created_at < coalesce($5::timestamptz, 'infinity')
      and not exists (
        select from regexp_split_to_table($6, ' ') word where word <> '' and ' ' || lower(i.title) not like '% ' || word || '%'
      )
    order by ${keys[sort]} desc, i.id desc`,
    [world.boardId, moderation_state, status_key ?? null, tag ?? null, created_before ?? null, q],
  );
  return rows.map(({ id }) => Number(id));
}

async function readPage(filter: Filter, place: { page: number; per_page: number }) {
  const given = Object.entries({ ...filter, ...place }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])));
  const answer = await request(server, `GET /api/v1/ideas?${query}`, { token });
  expect([filter, place, answer.status]).toEqual([filter, place, 200]);
  return { ids: answer.body.data.map(({ id }: { id: number }) => id), hasMore: answer.body.has_more };
}

const maybe = <T>(...values: T[]) => fc.constantFrom(undefined, ...values);
const filters: fc.Arbitrary<Filter> = fc.record({
  sort: maybe(...ideaSorts),
  status_key: maybe('open', 'declined', 'unknown'),
  moderation_state: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant('pending' as const) },
  ),
  tag: maybe(frequentTag, rareTag),
  q: maybe('some', 'e', 'seldom', 'even some', 'even seldom', 'i s', 'nothing'),
  created_before: maybe('2026-02-27T00:00:00Z'),
});

/** Compares first pages, and random pages of random lists, with the ideas that a simple query returns. */
async function comparePages(numRuns: number) {
  for (const filter of [{ q: 'even' }, { tag: frequentTag }, { tag: rareTag }, { q: 'even', tag: frequentTag }]) {
    for (const per_page of [20, 100]) {
      const all = await readAll(filter);
      const expected = { ids: all.slice(0, per_page), hasMore: all.length > per_page };
      expect({ filter, ...(await readPage(filter, { page: 1, per_page })) }).toEqual({ filter, ...expected });
    }
  }
  await fc.assert(
    fc.asyncProperty(filters, fc.double({ min: 0, max: 1.1, noNaN: true }), maybe(1, 7), async (filter, part, size) => {
      const all = await readAll(filter);
      const per_page = size ?? 100;
      const page = 1 + Math.floor((all.length * part) / per_page);
      const offset = (page - 1) * per_page;
      const expected = { ids: all.slice(offset, offset + per_page), hasMore: all.length > offset + per_page };
      expect({ filter, page, ...(await readPage(filter, { page, per_page })) }).toEqual({ filter, page, ...expected });
    }),
    { numRuns, seed: 20_261_128 },
  );
}

test('each page of a list of ideas has exactly the ideas that a simple SQL query returns, for any sort order, filter and page number', async () => {
  await comparePages(150);
});

test('a list of ideas in the order of their creation misses no idea while other requests change the statuses of its ideas', async () => {
  const cases = [{}, { tag: frequentTag }, { q: 'even' }].map(filter => ({ filter, place: { page: 6, per_page: 50 } }));
  const far = { filter: {}, place: { page: 13, per_page: 50 } };
  const expected = await Promise.all(
    [...cases, far].map(async ({ filter, place }) => {
      const all = await readAll(filter);
      return all.slice((place.page - 1) * place.per_page, place.page * place.per_page);
    }),
  );
  let isDone = false;
  const change = async () => {
    for (let turn = 0; !isDone; turn++) {
      await server.sql(
        `update ideas set status_id = (select id from statuses where board_id = $1 and key = $2)
        where board_id = $1 and id % 20 = $3 and status_id in (
          select id from statuses where board_id = $1 and key in ('open', 'planned', 'done')
        )`,
        [world.boardId, ['open', 'planned', 'done'][turn % 3], turn % 20],
      );
    }
  };
  const changes = Promise.all([change(), change()]);
  try {
    for (let turn = 0; turn < 15; turn++) {
      const pages = await Promise.all([...cases, far].map(({ filter, place }) => readPage(filter, place)));
      expect(pages.map(({ ids }) => ids)).toEqual(expected);
    }
  } finally {
    isDone = true;
    await changes;
  }
});

test('the SQL queries for far pages, tag filters and searches read the ideas of each status from the index in the order of the list', async () => {
  const client = await connect(server.url);
  const indexes: Record<IdeaSort, string> = {
    newest: 'ideas_newest_idx',
    top: 'ideas_top_idx',
    updated: 'ideas_updated_idx',
    comments: 'ideas_comments_idx',
    trending: 'ideas_trending_idx',
  };
  try {
    await client.query('vacuum analyze ideas');
    // Sorting all ideas of a board as small as this one is as fast as reading them in order.
    await client.query('set enable_sort = off');
    // The arguments are null. With their values, some versions of PostgreSQL know that the result is empty.
    await client.query('set plan_cache_mode = force_generic_plan');
    for (const sort of ideaSorts) {
      const form = { sort, isPending: false, hasCursor: false, branches: 8 } as const;
      const match = (conditions: Conditions) => {
        const of = { ...form, conditions };
        const first = { ...of, reach: reaches.near, rows: enoughRows[0] };
        return [
          firstPageQueries.get(keyOfForm(first)),
          ...Object.values(reaches).map(reach => matchQueries.get(keyOfForm({ ...of, reach }))),
        ];
      };
      const queries = [
        { scan: 'Index Only Scan', of: [farQueries.get(keyOfForm({ ...form, conditions: 'tag', reach: null }))] },
        {
          scan: 'Index Only Scan',
          of: [...match('tag'), sampleQueries.get(keyOfSample({ ...form, isFiltered: false }))],
        },
        // A filter compares columns that the index does not have.
        {
          scan: 'Index Scan',
          of: [...match('all'), ...match('words'), sampleQueries.get(keyOfSample({ ...form, isFiltered: true }))],
        },
      ].flatMap(({ scan, of }) => of.map(query => ({ scan, query })));
      for (const { scan, query } of queries) {
        if (!query) throw new Error(`No query for ${sort}`);
        await client.query(`prepare page as ${query.text}`);
        const values = query.argumentNames.map(() => 'null').join(', ');
        const { rows } = await client.query(`explain (format json) execute page(${values})`);
        await client.query('deallocate page');
        const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan);
        // A walk merges the statuses. A sample reads the statuses one after the other.
        const read = nodes.find(node => node['Node Type'] === 'Merge Append') ?? nodes[0];
        const scans = nodesOf(read).filter(
          node => node['Relation Name'] === 'ideas' && node['Parent Relationship'] !== 'SubPlan',
        );
        expect([query.name, ...new Set(scans.map(one => `${one['Node Type']} ${one['Index Name']}`))]).toEqual([
          query.name,
          `${scan} ${indexes[sort]}`,
        ]);
      }
    }
  } finally {
    await client.end();
  }
});

test('pages of a board with more statuses than a usual board also have exactly the ideas that a simple SQL query returns', async () => {
  await server.sql(
    `insert into statuses (account_id, board_id, key, label, category, position)
    select account_id, id, 'more_' || n, 'More', 'active', 10 + n from boards, generate_series(1, 6) n where id = $1`,
    [world.boardId],
  );
  await server.sql(
    `update ideas set status_id = (
      select id from statuses where board_id = $1 order by position offset ideas.id % 12 limit 1
    ) where board_id = $1`,
    [world.boardId],
  );
  await comparePages(50);
});

test('a search on a small board finds its ideas, even if a moderator hides a status between two statements of the search', async () => {
  const { accountId, boardId, ownerId } = await createWorld(server);
  await server.sql(`update statuses set is_hidden = false where board_id = ${boardId}`);
  await server.sql(
    `insert into statuses (account_id, board_id, key, label, category, position)
    select $1, $2, 'more_' || n, 'More', 'active', 10 + n from generate_series(1, 3) n`,
    [accountId, boardId],
  );
  await server.sql(
    `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
    select $1, $2, $3, (select id from statuses where board_id = $2 and key = 'open'), 'A dark theme', 'Text', 'published'`,
    [accountId, boardId, ownerId],
  );
  const actor = { accountId, boardId, voterId: null, isModerator: false } as const;
  const { database } = server.dependencies;
  const names: string[] = [];
  const query: ReadOperation['query'] = async (one, values) => {
    const rows = await database.query(one, values);
    if (names.length === 0) {
      await server.sql(`update statuses set is_hidden = true where board_id = ${boardId} and key = 'more_1'`);
    }
    names.push(one.name);
    return rows;
  };
  const filter = { sort: 'newest', isPending: false, q: 'dark' } as const;
  const { rows } = await listIdeas({ query, actor }, filter, placeOf({}, 'newest', 20));
  expect(rows.map(({ title }) => title)).toEqual(['A dark theme']);
  expect(names.length).toBeGreaterThan(1);
});

interface PlanNode {
  [property: string]: unknown;
  Plans?: PlanNode[];
}

function nodesOf(node: PlanNode | undefined): PlanNode[] {
  return node ? [node, ...(node.Plans ?? []).flatMap(nodesOf)] : [];
}
