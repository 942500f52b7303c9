import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listQueries } from '../../server/database/query.ts';
import { declarationOf } from '../../server/database/sql.ts';
import { connect, createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { describeStatement } from '../helpers/describe-statement.ts';

/** These start a process when they are imported. */
const programs = ['main.ts', 'worker.ts', 'cli/main.ts'];

const server = fileURLToPath(new URL('../../server/', import.meta.url));

let db: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase();
  client = await connect(db.url);
  const modules = globSync('**/*.ts', { cwd: server, exclude: ['**/*.d.ts', ...programs] });
  for (const module of modules) await import(`${server}${module}`);
});
afterAll(async () => {
  await client.end();
  await db.drop();
});

/** Test files that ran in the same process define statements, too. */
const queriesOfServer = () => listQueries().filter(({ name }) => !name.startsWith('test_'));

describe('every statement of the server', () => {
  test('is one that PostgreSQL accepts on the migrated schema', async () => {
    const refused: Record<string, string> = {};
    for (const { name, text } of queriesOfServer()) {
      await describeStatement(client, text).catch((error: Error) => {
        refused[name] = error.message;
      });
    }
    expect(queriesOfServer().length).toBeGreaterThan(100);
    expect(refused).toEqual({});
  });

  test('has a name of its own, under which each connection prepares it', () => {
    const names = queriesOfServer().map(({ name }) => name);
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
    // PostgreSQL cuts longer names, so that two could become one.
    expect(names.filter(name => name.length > 63)).toEqual([]);
  });

  test('that declares its arguments and its rows declares them as PostgreSQL describes them', async () => {
    for (const { name, text } of queriesOfServer()) {
      const declared = declarationOf(name);
      if (!declared) continue;
      const { parameterTypes, columns } = await describeStatement(client, text);
      const typesOf = (types: typeof declared.row) =>
        Object.entries(types).map(([column, { postgresType }]) => [column, postgresType]);
      expect([name, ...parameterTypes]).toEqual([
        name,
        ...Object.values(declared.arguments).map(({ postgresType }) => postgresType),
      ]);
      // A function that returns void has a column without a value.
      const described = columns.filter(({ type }) => type !== 'void').map(({ name: column, type }) => [column, type]);
      expect([name, ...described]).toEqual([name, ...typesOf(declared.row)]);
    }
  });
});
