import type { TestDatabase } from './database.ts';

/** Tables that a snapshot ignores. The tables rate_limits and token_usage change with each request. */
const ignoredTables = new Set(['rate_limits', 'schema_migrations', 'token_usage']);

const statements = new WeakMap<object, string>();

/**
 * Returns the number of rows and a hash of each table except `ignoredTables`. If two snapshots are equal, the data is
 * equal. A snapshot also leaves out the time of a token's last use, because the server may store this time only after
 * the response.
 */
export async function snapshot({
  database,
  sql,
}: Pick<TestDatabase, 'database' | 'sql'>): Promise<Record<string, string>> {
  let statement = statements.get(sql);
  if (!statement) {
    const tables = await sql<{ name: string }>(
      `select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
    );
    statement = tables
      .filter(({ name }) => !ignoredTables.has(name))
      .map(
        ({
          name,
        }) => `select '${name}' as name, count(*) || ' rows, ' || coalesce(md5(string_agg(row, ',')), '') as state
        from (select (to_jsonb(t) - 'last_used_at')::text as row from ${name} t order by 1) rows`,
      )
      .join(' union all ');
    statements.set(sql, statement);
  }
  // Uses a named statement, because each connection plans a named statement only once. Planning this statement takes
  // longer than running it.
  const { rows } = await database.pool.query<{ name: string; state: string }>({ name: 'snapshot', text: statement });
  return Object.fromEntries(rows.map(({ name, state }) => [name, state]));
}
