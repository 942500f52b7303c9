import { type Expression, type Kysely, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';

/*
 * The pages of all public boards, in parts for the sitemap. Part n has the boards and the ideas whose ids are in the
 * n-th range of ids. So a part never has more pages than a sitemap may have, and a new idea never moves other pages to
 * another part.
 */

/** The number of ids in a part. A board has two pages and an idea has one. So a part has at most 15,000 pages. */
const idsOfPart = 5000;

const partOf = (id: string) => sql<number>`((${sql.ref(id)} - 1) / ${sql.lit(idsOfPart)} + 1)::int`;

/**
 * Selects an account's first idea whose id is greater than the given id. The idea has the SQL alias `i`. Skips ideas
 * that visitors cannot read.
 */
function nextIdea(db: Kysely<Tables>, accountId: Expression<number>, id: Expression<number>) {
  return db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.account_id', '=', 'i.account_id').onRef('b.id', '=', 'i.board_id'))
    .innerJoin('statuses as s', join =>
      join.onRef('s.account_id', '=', 'i.account_id').onRef('s.id', '=', 'i.status_id'),
    )
    .select('i.id')
    .where(i => i.and([i('i.account_id', '=', accountId), i('i.id', '>', id)]))
    .where('i.moderation_state', '=', 'published')
    .where('i.merged_into_id', 'is', null)
    .where('b.is_public', '=', true)
    .where('s.is_hidden', '=', false)
    .orderBy('i.id')
    .limit(1);
}

/**
 * Finds the first idea of each part of the sitemap in each account. Skips the other ideas of the part, because one idea
 * is enough to know that the part has a page.
 */
const selectParts = query('select_sitemap_parts', db =>
  db
    .withRecursive('firsts', cte =>
      cte
        .selectFrom(accountsWithPublicBoard(db).as('a'))
        .crossJoinLateral(from => nextIdea(db, from.ref('a.account_id'), sql.lit(0)).as('next'))
        .select(['a.account_id', 'next.id'])
        .unionAll(
          cte
            .selectFrom('firsts as f')
            .crossJoinLateral(from =>
              nextIdea(db, from.ref('f.account_id'), sql`${partOf('f.id')} * ${sql.lit(idsOfPart)}`).as('next'),
            )
            .select(['f.account_id', 'next.id']),
        ),
    )
    .selectFrom('firsts as f')
    .select(partOf('f.id').as('part'))
    .union(db.selectFrom('boards as b').select(partOf('b.id').as('part')).where('b.is_public', '=', true))
    .orderBy('part'),
);

function accountsWithPublicBoard(db: Kysely<Tables>) {
  return db.selectFrom('boards').select('account_id').distinct().where('is_public', '=', true);
}

/** Lists the numbers of the sitemap parts that contain a page. */
export async function listParts({ query }: Queryable): Promise<number[]> {
  const rows = await query(selectParts, {});
  return rows.map(({ part }) => part);
}

interface IdRange {
  firstId: number;
  lastId: number;
}

const selectBoards = query('select_sitemap_boards', (db, $: Arguments<IdRange>) =>
  db
    .selectFrom('boards as b')
    .select('b.slug')
    .where('b.is_public', '=', true)
    .where(b => b.between('b.id', $.firstId, $.lastId))
    .orderBy('b.id'),
);

/**
 * For each account with a public board, reads the ideas by their primary key. No index has the idea ids of all
 * accounts.
 */
const selectIdeas = query('select_sitemap_ideas', (db, $: Arguments<IdRange>) =>
  db
    .selectFrom(accountsWithPublicBoard(db).as('a'))
    .crossJoinLateral(from =>
      from
        .selectFrom('ideas as i')
        .select(['i.account_id', 'i.id', 'i.board_id', 'i.status_id', 'i.updated_at'])
        .whereRef('i.account_id', '=', 'a.account_id')
        .where(i => i.between('i.id', $.firstId, $.lastId))
        .where('i.moderation_state', '=', 'published')
        .where('i.merged_into_id', 'is', null)
        // Never cuts off rows, because a part has at most this number of ids. But with a limit, PostgreSQL runs this
        // subquery separately. Otherwise it might read the ideas again for each status.
        .limit(idsOfPart)
        .as('i'),
    )
    .innerJoin('boards as b', join => join.onRef('b.account_id', '=', 'i.account_id').onRef('b.id', '=', 'i.board_id'))
    .innerJoin('statuses as s', join =>
      join.onRef('s.account_id', '=', 'i.account_id').onRef('s.id', '=', 'i.status_id'),
    )
    .select(['b.slug', 'i.id', 'i.updated_at'])
    .where('b.is_public', '=', true)
    .where('s.is_hidden', '=', false)
    .orderBy('i.id'),
);

/** Lists the public boards of a part of the sitemap, and the part's ideas that visitors can read. */
export async function listPublicPages({ query }: Queryable, part: number) {
  const lastId = part * idsOfPart;
  const range = { firstId: lastId - idsOfPart + 1, lastId };
  const [boards, ideas] = await Promise.all([query(selectBoards, range), query(selectIdeas, range)]);
  return { boards, ideas };
}
