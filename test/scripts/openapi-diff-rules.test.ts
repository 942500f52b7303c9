import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { levels, renderRules, rules } from '../../scripts/openapi-diff/main.ts';

const page = readFileSync(new URL('../../docs/openapi-diff.md', import.meta.url), 'utf8');
const tables = ['schemas', 'operations']
  .map(name => readFileSync(new URL(`openapi-diff-${name}.test.ts`, import.meta.url), 'utf8'))
  .join('\n');

test('every rule of openapi-diff has an id in kebab case, a level, a reason and advice, and only additive rules advise "Nothing to do."', () => {
  for (const [id, { level, when, action }] of Object.entries(rules)) {
    expect(id).toMatch(/^[a-z]+(-[a-z]+)+$|^deprecated$/);
    expect(levels).toContain(level);
    expect(when, id).toMatch(/^[A-Z`].*\.$/);
    expect(action, id).toMatch(/^[A-Z].*\.$/);
    if (id !== 'deprecated') expect(action === 'Nothing to do.', id).toBe(level === 'additive');
  }
});

test('the documentation lists exactly the current rules of openapi-diff', () => {
  expect(page.endsWith(renderRules()), 'replace the tables with the output of npm run openapi:diff -- --rules').toBe(
    true,
  );
});

test('every rule of openapi-diff has at least one test case', () => {
  const untested = Object.entries(rules).filter(
    ([id, { level }]) => !new RegExp(`\\b${level} ${id}[', ]`).test(tables),
  );
  expect(untested.map(([id]) => id)).toEqual([]);
});
