import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { statementTimeout } from '../../database/unavailable.ts';
import type { ReadOperation } from '../operation.ts';
import { ideaViews } from './read-idea.ts';

/** The maximum time of the search, in milliseconds. If most titles share the words of a title, the search can take longer. */
const searchMs = 300;

/** The maximum number of similar ideas that the page shows. */
const shownIdeas = 5;

/**
 * The maximum number of found titles in each status whose similarity is compared. Two very common words occur in more
 * titles.
 */
const comparedIdeas = 200;

export type SimilarIdea = RowOf<typeof selectSimilar>;

const selectSimilar = query(
  'select_similar_ideas',
  (db, $: Arguments<{ accountId: number; boardId: number; voterId: number | null; title: string }>) => {
    const words = sql`similar_words_query(${$.title}::text)`;
    const found = db
      .selectFrom('statuses as shown')
      .crossJoinLateral(from =>
        from
          .selectFrom('ideas as i')
          .select(['i.id', 'i.score', sql<number>`ts_rank(i.title_words, ${words})`.as('rank')])
          .where('i.account_id', '=', $.accountId)
          .whereRef('i.status_id', '=', 'shown.id')
          .where('i.moderation_state', '=', 'published')
          .where('i.merged_into_id', 'is', null)
          .where(sql<boolean>`i.title_words @@ ${words}`)
          .limit(comparedIdeas)
          .as('of_status'),
      )
      .select(['of_status.id', 'of_status.rank', 'of_status.score'])
      .where(shown => shown.and({ 'shown.account_id': $.accountId, 'shown.board_id': $.boardId }))
      .where('shown.is_hidden', '=', false)
      .orderBy('of_status.rank', 'desc')
      .orderBy('of_status.score', 'desc')
      .orderBy('of_status.id', 'desc')
      .limit(shownIdeas)
      .as('found');
    return ideaViews(db, $.accountId, $.voterId)
      .innerJoin(found, 'found.id', 'i.id')
      .orderBy('found.rank', 'desc')
      .orderBy('found.score', 'desc')
      .orderBy('found.id', 'desc');
  },
  // This query is not prepared, because the best query plan depends on the words.
  { isPrepared: false },
);

const limitTime = query('limit_time_of_search', db =>
  db.selectNoFrom(sql<string>`set_config('statement_timeout', ${sql.lit(String(searchMs))}, true)`.as('set_config')),
);

/**
 * Finds published ideas in shown statuses with similar titles: at least two long words are the same. If the title has
 * only one long word, this word is the same. Returns at most five ideas, the most similar first. Returns none if the
 * search takes too long, because a person can write an idea without them.
 */
export async function findSimilarIdeas(
  database: Database,
  { accountId, boardId, voterId }: ReadOperation['actor'],
  title: string,
): Promise<SimilarIdea[]> {
  try {
    return await database.transaction(async transaction => {
      await transaction.query(limitTime, {});
      return transaction.query(selectSimilar, { accountId, boardId, voterId, title });
    });
  } catch (error) {
    if ((error as { code?: string }).code === statementTimeout) return [];
    throw error;
  }
}
