import { afterAll, describe, expect, test } from 'vitest';
import { declarationOf } from '../../server/database/sql.ts';
import { connect, createTestDatabase } from '../helpers/database.ts';
import { describeStatement } from '../helpers/describe-statement.ts';
import { loadServerQueries } from '../helpers/server-queries.ts';

const db = await createTestDatabase();
const client = await connect(db.url);
const queries = await loadServerQueries();
afterAll(async () => {
  await client.end();
  await db.drop();
});

describe('every statement of the server', () => {
  test('PostgreSQL accepts every SQL statement of the server on the migrated database schema', async () => {
    const refused: Record<string, string> = {};
    for (const { name, text } of queries) {
      await describeStatement(client, text).catch((error: Error) => {
        refused[name] = error.message;
      });
    }
    expect(queries.length).toBeGreaterThan(100);
    expect(refused).toEqual({});
  });

  test('every SQL statement of the server has a unique name', () => {
    const names = queries.map(({ name }) => name);
    expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
    // PostgreSQL truncates statement names to 63 bytes. So two longer names could become the same name.
    expect(names.filter(name => name.length > 63)).toEqual([]);
  });

  test('the arguments and rows that each statement of sql() declares match the types that PostgreSQL reports', async () => {
    for (const { name, text } of queries) {
      const declared = declarationOf(name);
      if (!declared) continue;
      const { parameterTypes, columns } = await describeStatement(client, text);
      const typesOf = (types: typeof declared.row) =>
        Object.entries(types).map(([column, { postgresType }]) => [column, postgresType]);
      expect([name, ...parameterTypes]).toEqual([
        name,
        ...Object.values(declared.arguments).map(({ postgresType }) => postgresType),
      ]);
      // Leaves out columns of the type void. PostgreSQL reports such a column for a function that returns void, but the
      // column never has a value.
      const described = columns.filter(({ type }) => type !== 'void').map(({ name: column, type }) => [column, type]);
      expect([name, ...described]).toEqual([name, ...typesOf(declared.row)]);
    }
  });
});
