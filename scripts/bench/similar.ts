import { quantile } from 'simple-statistics';
import { startServer } from './api.ts';
import { formatTable } from './format-table.ts';
import { scenarios } from './scenarios.ts';
import { readTitles, seed } from './seed.ts';
import { note, type Stage } from './stage.ts';

const medianLimitMs = 30;

/**
 * Measures searches for similar ideas, one at a time. Returns whether the median time of each kind of search is within
 * the limit.
 */
export async function run(stage: Stage, { ideas, times }: { ideas: number; times: number }): Promise<boolean> {
  note(`seeding ${ideas} ideas`);
  const { url, filled } = await stage.startDatabase(async client => {
    const seeded = await seed(client, { ideas, votes: 1000 });
    return { ...seeded, titles: await readTitles(client, ideas) };
  });
  const { baseUrl, targets } = await startServer(stage, 'idea-board.ts', url, filled);
  const { titles, tokens, words } = filled;
  const searches: Record<string, () => Record<string, string>> = {
    'the title of an idea, in another order': () => ({ title: shuffled(anyOf(titles)) }),
    'a title with a typing error': () => ({ title: mistyped(anyOf(titles)) }),
    'a new title and body': () => {
      const { title, body } = JSON.parse(String(scenarios.create.draft(targets).body));
      return { title, body: body.slice(0, 1000) };
    },
    'the two most frequent words': () => ({ title: words.slice(0, 2).join(' ') }),
  };
  const rows: string[][] = [['search', 'p50 ms', 'p99 ms', 'timed out', '']];
  let isGood = true;
  for (const [name, search] of Object.entries(searches)) {
    const durationsMs: number[] = [];
    let slow = 0;
    // The first 300 searches are a warm-up, which also fills the memory of PostgreSQL. Their durations are discarded.
    for (let turn = -300; turn < times; turn++) {
      const startedAt = performance.now();
      const response = await fetch(`${baseUrl}/api/v1/ideas/similar?${new URLSearchParams(search())}`, {
        headers: { authorization: `Bearer ${anyOf(tokens)}` },
      });
      await response.arrayBuffer();
      if (turn < 0) continue;
      durationsMs.push(performance.now() - startedAt);
      if (response.status === 503) slow++;
      else if (response.status !== 200) throw new Error(`A search got the status ${response.status}`);
    }
    const median = quantile(durationsMs, 0.5);
    const isSlow = median > medianLimitMs;
    if (isSlow) isGood = false;
    rows.push([
      name,
      median.toFixed(1),
      quantile(durationsMs, 0.99).toFixed(1),
      String(slow),
      isSlow ? 'too slow' : '',
    ]);
  }
  process.stdout.write(`\n${ideas} ideas. The limit of each median is ${medianLimitMs} ms.\n\n${formatTable(rows)}\n`);
  return isGood;
}

function shuffled(title: string): string {
  return title.split(' ').reverse().join(' ');
}

/** Swaps two letters of the longest word. */
function mistyped(title: string): string {
  const [longest = ''] = title.split(' ').sort((a, b) => b.length - a.length);
  return title.replace(longest, longest.replace(/(..)(.)(.)/, '$1$3$2'));
}

function anyOf<T>(choices: readonly T[]): T {
  return choices[Math.floor(Math.random() * choices.length)] as T;
}
