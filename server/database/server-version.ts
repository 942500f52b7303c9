import pg from 'pg';
import { MigrationError } from './migration-files.ts';
import { runOn } from './query.ts';
import { integer, sql, text } from './sql.ts';

/** The oldest PostgreSQL that the schema works on. Version 14 brought the form in which it writes functions. */
export const oldestSupported = 14;

export const selectServer = sql(
  'select_postgres_server',
  { arguments: {}, row: { version: text(), major: integer(), encoding: text() } },
  `select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
    current_setting('server_encoding') as encoding`,
);

/** Refuses a PostgreSQL that is too old. Fails with the error of the connection where none can be reached. */
export async function requireSupportedPostgres(url: string, connectTimeoutMs: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => {});
  await client.connect();
  try {
    const [{ major } = { major: 0 }] = await runOn(client, selectServer, {});
    if (major < oldestSupported) {
      throw new MigrationError(`PostgreSQL ${major} is too old; ${oldestSupported} or newer is needed`);
    }
  } finally {
    await client.end();
  }
}
