import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { levels, renderRules, rules } from '../../scripts/openapi-diff/main.ts';

const page = readFileSync(new URL('../../docs/openapi-diff.md', import.meta.url), 'utf8');
const tables = ['schemas', 'operations']
  .map(name => readFileSync(new URL(`openapi-diff-${name}.test.ts`, import.meta.url), 'utf8'))
  .join('\n');

test('every rule has an id in kebab case, a level, a reason and an advice', () => {
  for (const [id, { level, when, action }] of Object.entries(rules)) {
    expect(id).toMatch(/^[a-z]+(-[a-z]+)+$|^deprecated$/);
    expect(levels).toContain(level);
    expect(when, id).toMatch(/^[A-Z`].*\.$/);
    expect(action, id).toMatch(/^[A-Z].*\.$/);
  }
});

test('what nobody has to act on is additive, and nothing else is', () => {
  for (const [id, { level, action }] of Object.entries(rules)) {
    if (id !== 'deprecated') expect(action === 'Nothing to do.', id).toBe(level === 'additive');
  }
});

test('the page about the comparison lists the rules as they are', () => {
  expect(page.endsWith(renderRules()), 'replace the tables by what npm run openapi:diff -- --rules prints').toBe(true);
});

test('every rule is the verdict on at least one pair of the tables', () => {
  const untested = Object.entries(rules).filter(([id, { level }]) => !tables.includes(`'${level} ${id}'`));
  expect(untested.map(([id]) => id)).toEqual([]);
});
