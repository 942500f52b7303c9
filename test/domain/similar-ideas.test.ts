import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { selectSimilarIdeas } from '../../server/domain/ideas/find-similar.ts';
import type { BoardLanguage } from '../../server/entities/board-language.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld, type World } from '../helpers/fixtures.ts';

/** Ideas in one language, each with texts that should find the idea. docs/similar-ideas.md describes this test data. */
interface Labelled {
  language: BoardLanguage;
  ideas: {
    title: string;
    body: string;
    /** The title of the idea, with typing errors. */
    typo: string;
    /** The title with other forms of its words, and in another word order. */
    reworded: string;
    /** The title and body of another idea that requests the same feature. */
    paraphrase: { title: string; body: string };
  }[];
  /**
   * Ideas that use the same words but request another feature. The test makes one idea from each combination of pattern
   * and place.
   */
  distractors: { places: string[]; patterns: string[] };
}

const labelled: Labelled[] = JSON.parse(await readFile(new URL('similar/labelled-set.json', import.meta.url), 'utf8'));

const db = await createDatabaseForFile();
let world: World;
let ids: Map<string, number>;

beforeAll(async () => {
  world = await createWorld(db);
  const all = labelled.flatMap(({ ideas, distractors: { places, patterns } }) => [
    ...ideas,
    ...patterns.flatMap(pattern =>
      places.map(place => ({ title: pattern.replace('{}', place), body: `${place}: ${pattern}` })),
    ),
  ]);
  const rows = await db.sql<{ id: number; title: string }>(
    `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
    select $1, $2, $3, (select id from statuses where board_id = $2 order by position limit 1), title, body, 'published'
    from unnest($4::text[], $5::text[]) as given (title, body) returning id, title`,
    [world.accountId, world.boardId, world.ownerId, all.map(({ title }) => title), all.map(({ body }) => body)],
  );
  ids = new Map(rows.map(({ id, title }) => [title, id]));
});

/**
 * Searches for similar ideas with the texts of one kind. Returns the share of searches whose five results contained the
 * labelled idea, and the similarities of the labelled ideas.
 */
async function measure(kind: 'typo' | 'reworded' | 'paraphrase', languages: readonly Labelled[]) {
  const actor = { accountId: world.accountId, boardId: world.boardId, voterId: null, isModerator: false } as const;
  const similarities: number[] = [];
  let count = 0;
  for (const { language, ideas } of languages) {
    await db.sql('update boards set language = $2 where id = $1', [world.boardId, language]);
    for (const idea of ideas) {
      const text = kind === 'paraphrase' ? idea.paraphrase : { title: idea[kind], body: '' };
      const found = await selectSimilarIdeas({ actor, query: db.database.query }, text);
      const hit = found.find(({ id }) => id === ids.get(idea.title));
      if (hit) similarities.push(hit.similarity);
      count++;
    }
  }
  similarities.sort((a, b) => a - b);
  return { count, recall: similarities.length / count, similarities };
}

test('for at least 90 % of the near-duplicates in the test data, the search returns the original idea with a similarity of at least 0.6', async () => {
  for (const kind of ['typo', 'reworded'] as const) {
    const { count, recall, similarities } = await measure(kind, labelled);
    expect(count).toBe(105);
    expect(recall).toBeGreaterThanOrEqual(0.9);
    expect(similarities.filter(similarity => similarity >= 0.6).length / count).toBeGreaterThanOrEqual(0.9);
  }
});

test('for at least 60 % of the paraphrases in each language of the test data, the search for similar ideas returns the original idea', async () => {
  for (const one of labelled) {
    const { count, recall } = await measure('paraphrase', [one]);
    expect(count).toBe(21);
    expect(recall, one.language).toBeGreaterThanOrEqual(0.6);
  }
});
