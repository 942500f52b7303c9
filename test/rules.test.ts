import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/**
 * A row of RULES.md: a rule and its tests. Each test has a file, the titles of its describe blocks, and its own title.
 */
interface Rule {
  id: string;
  tests: { file: string; titles: string[] }[];
}

const rules: Rule[] = readFileSync(new URL('RULES.md', import.meta.url), 'utf8')
  .split('\n')
  .filter(line => /^\| [A-Z]/.test(line) && !line.startsWith('| Rule '))
  .map(line => {
    const [, id = '', , testedBy = ''] = line.split(/(?<!\\)\|/).map(cell => cell.trim());
    const tests = testedBy.split('<br>').map(one => {
      const [file = '', ...titles] = one.split(' › ').map(part => part.trim().replace(/^`|`$/g, ''));
      return { file, titles };
    });
    return { id, tests };
  });

const titlesByFile = new Map<string, Set<string>>();

/**
 * Returns the literal titles of all calls of `test`, `it` and `describe`, including the calls with `each` and `runIf`.
 */
function titlesOf(file: string): Set<string> {
  const known = titlesByFile.get(file);
  if (known) return known;
  const source = readFileSync(new URL(file, import.meta.url), 'utf8');
  const calls = source.matchAll(/(?:\b(?:test|it|describe)\(|\)\()\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1,/g);
  const titles = new Set([...calls].map(([, , title = '']) => title.replace(/\\(['"`])/g, '$1')));
  titlesByFile.set(file, titles);
  return titles;
}

test('the table in test/RULES.md lists no rule of the specification twice', () => {
  const ids = rules.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(80);
  expect(ids.filter((id, n) => ids.indexOf(id) !== n)).toEqual([]);
});

describe.each(rules)('the rule $id', ({ tests }) => {
  test('every test that test/RULES.md names for a rule of the specification exists', () => {
    expect(tests.length).toBeGreaterThan(0);
    for (const { file, titles } of tests) {
      expect(file).toMatch(/\.test\.ts$/);
      expect(titles.length).toBeGreaterThan(0);
      for (const title of titles) expect([...titlesOf(file)]).toContain(title);
    }
  });
});
