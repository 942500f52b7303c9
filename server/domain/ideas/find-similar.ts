import { sql } from 'kysely';
import { excerptLength, maxSimilarIdeas } from '../../../contract/limits.ts';
import type { Database } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { statementTimeout } from '../../database/unavailable.ts';
import type { ReadOperation } from '../operation.ts';
import { excerptOf } from './list-ideas.ts';
import { ideaViews } from './read-idea.ts';

/** The maximum time of the search, in milliseconds. */
const searchMs = 300;

export type SimilarIdea = RowOf<typeof selectSimilar>;

interface SearchedText {
  accountId: number;
  boardId: number;
  voterId: number | null;
  title: string;
  body: string;
  /** The id of the idea with these texts, which is not similar to itself. Null for a new idea. */
  ideaId: number | null;
  excerptLength: number;
}

/** The function similar_ideas finds published ideas, also in hidden statuses. */
const selectSimilar = query('select_similar_ideas', (db, $: Arguments<SearchedText>) => {
  const found = sql<{
    idea_id: number;
    similarity: number;
  }>`similar_ideas(${$.accountId}, ${$.boardId}, ${$.title}::text, ${$.body}::text)`.as('found');
  return ideaViews(db, $.accountId, $.voterId)
    .innerJoin(found, 'found.idea_id', 'i.id')
    .select(excerptOf($.excerptLength))
    .select(sql<number>`round(found.similarity::numeric, 3)::double precision`.as('similarity'))
    .where('i.board_id', '=', $.boardId)
    .where('i.moderation_state', '=', 'published')
    .where('i.merged_into_id', 'is', null)
    .where('s.is_hidden', '=', false)
    .where(sql<boolean>`i.id is distinct from ${$.ideaId}::bigint`)
    .orderBy('found.similarity', 'desc')
    .orderBy('i.score', 'desc')
    .orderBy('i.id', 'desc')
    .limit(sql.lit(maxSimilarIdeas));
});

interface Text {
  title: string;
  body: string;
  /** The id of the idea with these texts, if it exists. */
  ideaId?: number;
}

/**
 * Finds published ideas in shown statuses that are similar to a text, the most similar first. A merged idea counts as its
 * target. Reads at most the first 1,000 characters of each body.
 */
export function selectSimilarIdeas(op: ReadOperation, { title, body, ideaId }: Text): Promise<SimilarIdea[]> {
  const { accountId, boardId, voterId } = op.actor;
  return op.query(selectSimilar, { accountId, boardId, voterId, title, body, ideaId: ideaId ?? null, excerptLength });
}

const limitTime = query('limit_time_of_search', db =>
  db.selectNoFrom(sql<string>`set_config('statement_timeout', ${sql.lit(String(searchMs))}, true)`.as('set_config')),
);

/** Finds similar ideas like selectSimilarIdeas. Fails if the search takes too long. */
export function findSimilarIdeas(
  database: Database,
  actor: ReadOperation['actor'],
  text: Text,
): Promise<SimilarIdea[]> {
  return database.transaction(async ({ query }) => {
    await query(limitTime, {});
    return selectSimilarIdeas({ actor, query }, text);
  });
}

/** Finds similar ideas, or none if the search takes too long: a person can write an idea without them. */
export async function findSimilarIdeasInTime(...search: Parameters<typeof findSimilarIdeas>): Promise<SimilarIdea[]> {
  try {
    return await findSimilarIdeas(...search);
  } catch (error) {
    if ((error as { code?: string }).code === statementTimeout) return [];
    throw error;
  }
}
