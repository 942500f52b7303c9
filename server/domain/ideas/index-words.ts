import { sql } from 'kysely';
import { type Arguments, query } from '../../database/query.ts';
import type { ReadOperation } from '../operation.ts';

/**
 * Selects the words of a search, with the estimated share of ideas whose titles match the word. The estimates come from
 * PostgreSQL's statistics of all boards together.
 */
const selectFrequencies = query('select_word_frequencies', (db, $: Arguments<{ q: string }>) => {
  const common = sql<{ term: string; frequency: number }>`(
    select unnest(most_common_elems::text::text[]) as term, unnest(most_common_elem_freqs) as frequency
    from pg_stats
    where schemaname = current_schema() and tablename = 'ideas' and attname = 'title_words'
  )`;
  const words = sql<{ word: string }>`(
    select unnest(tsvector_to_array(search_words(${$.q}))) as word
  )`;
  return db
    .selectFrom(words.as('searched'))
    .leftJoin(common.as('common'), join => join.on(sql<boolean>`starts_with(common.term, searched.word)`))
    .groupBy('searched.word')
    .select(['searched.word', sql<number>`coalesce(sum(common.frequency), 0)::double precision`.as('frequency')])
    .orderBy('frequency');
});

/** Two words with lower frequencies than this are equally good for the index. */
const rare = 0.0005;
/** Does not look up words that are more than this many times as frequent as the rarest word, because that is slower. */
const maxRatio = 20;

/** The words of a search to look up in the index, and the estimated share of ideas that have the rarest of them. */
interface IndexWords {
  words: string[];
  frequency: number;
}

/**
 * Returns the words of a search that PostgreSQL should look up in the index of words: the rarest word, and other words
 * that are not much more frequent. Returns undefined for a search with only one word.
 */
export async function selectIndexWords(op: ReadOperation, q: string): Promise<IndexWords | undefined> {
  if (!q.includes(' ')) return undefined;
  const words = await op.query(selectFrequencies, { q });
  const [rarest] = words;
  if (!rarest || words.length === 1) return undefined;
  const limit = maxRatio * Math.max(rarest.frequency, rare);
  const chosen = words.filter(({ frequency }) => frequency <= limit).map(({ word }) => word);
  return { words: chosen, frequency: rarest.frequency };
}
