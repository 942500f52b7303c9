import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const server = fileURLToPath(new URL('../../server/', import.meta.url));

/** The maximum number of `sql()` calls. New code should call `query()`, which infers the types of the rows. */
const maxUses = 30;

const usesOfSql = /(?<![\w.])sql\(\s*['`]\w[^'`]*['`],\s*\{[\s\S]*?\n? *\);\n/g;

/** Matches string literals that start like an SQL statement that can return rows, such as select or insert. */
const statementText =
  /(?<!sql|sql<\w+>|fragment|fragment<\w+>)['`]\s*(select|insert into|update(?= \w)|delete from|with \w+ as)\s[^'`]*/gi;

/** Files of the server that may contain SQL outside sql(), each with the reason. */
const elsewhere: Record<string, string> = {
  'database/distribution.ts': 'Writes the plan of the command `distribute`, whose statements return no rows.',
  'database/pooler.ts': 'Tries two texts with one name, to see whether a connection pooler mixes them up.',
  'database/migration-session.ts': 'Notes an applied migration in the table of the migrator, and reads no row.',
  'http/rate-limit.ts': 'A part of two texts of sql(), which charge counters in the same way.',
  'database/embedded/embedded-postgres.ts': 'Makes the database of a new cluster before there is a schema.',
};

const files = globSync('**/*.ts', { cwd: server, exclude: ['**/*.d.ts'] }).map(name => ({
  name,
  source: readFileSync(`${server}${name}`, 'utf8'),
}));

test(`the source code of the server calls sql() at most ${maxUses} times`, () => {
  const uses = files.flatMap(({ name, source }) => (source.match(usesOfSql) ?? []).map(() => name));
  expect(uses.length).toBeGreaterThan(0);
  expect(uses.length).toBeLessThanOrEqual(maxUses);
});

test('the source code of the server has SQL texts only in calls of sql() and fragment(), except in the files that this test lists', () => {
  const texts = files.flatMap(({ name, source }) =>
    (source.replaceAll(usesOfSql, '').match(statementText) ?? []).map(text => `${name}: ${text.slice(0, 60)}`),
  );
  expect(texts.filter(text => !Object.keys(elsewhere).some(name => text.startsWith(name)))).toEqual([]);
});

test('no code of the server except database.ts declares a row type in a call of query()', () => {
  const typed = files.filter(
    ({ name, source }) => name !== 'database/database.ts' && /\.query<(?!Values)/.test(source),
  );
  expect(typed.map(({ name }) => name)).toEqual([]);
});
