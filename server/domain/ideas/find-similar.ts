import { sql } from 'kysely';
import { excerptLength, maxSimilarIdeas } from '../../../contract/limits.ts';
import type { Database } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { statementTimeout } from '../../database/unavailable.ts';
import type { ReadOperation } from '../operation.ts';
import { excerptOf, ideaViews } from './read-idea.ts';

/** The time limit of a search for similar ideas, in milliseconds. */
const searchMs = 300;

export type SimilarIdea = RowOf<typeof selectSimilar>;

interface SearchedText {
  accountId: number;
  boardId: number;
  voterId: number | null;
  title: string;
  body: string;
  /** The id of the idea that the title and body belong to. The search leaves this idea out. Null for a new idea. */
  ideaId: number | null;
  excerptLength: number;
}

/** The database function similar_ideas also finds ideas in hidden statuses. This statement leaves such ideas out. */
const selectSimilar = query('select_similar_ideas', (db, $: Arguments<SearchedText>) => {
  const found = sql<{
    idea_id: number;
    similarity: number;
  }>`similar_ideas(${$.accountId}, ${$.boardId}, search_text(${$.title}::text), ${$.body}::text)`.as('found');
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
  /** The id of the idea that the title and body belong to, if this idea already exists. */
  ideaId?: number;
}

/**
 * Finds published ideas that are similar to a title and body, the most similar first. Leaves out ideas in hidden
 * statuses. If a merged idea is similar, returns the target of the merge. Compares only the first 1,000 characters of
 * bodies.
 */
export function selectSimilarIdeas(op: ReadOperation, { title, body, ideaId }: Text): Promise<SimilarIdea[]> {
  const { accountId, boardId, voterId } = op.actor;
  return op.query(selectSimilar, { accountId, boardId, voterId, title, body, ideaId: ideaId ?? null, excerptLength });
}

const limitTime = query('limit_time_of_search', db =>
  db.selectNoFrom(sql<string>`set_config('statement_timeout', ${sql.lit(String(searchMs))}, true)`.as('set_config')),
);

/** Finds similar ideas. Fails if the search takes longer than `searchMs`. */
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

/**
 * Finds similar ideas. Returns an empty list if the search takes too long, because a person can submit an idea without
 * the list.
 */
export async function findSimilarIdeasInTime(...search: Parameters<typeof findSimilarIdeas>): Promise<SimilarIdea[]> {
  try {
    return await findSimilarIdeas(...search);
  } catch (error) {
    if ((error as { code?: string }).code === statementTimeout) return [];
    throw error;
  }
}
