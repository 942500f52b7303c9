import type pg from 'pg';
import { MigrationError } from './migration-files.ts';
import { withSession } from './migration-session.ts';
import { runOn } from './query.ts';
import { integer, sql, text } from './sql.ts';

/** The oldest supported version of PostgreSQL. Migration 0031 uses `nulls not distinct`, which exists since version 15. */
export const oldestSupported = 15;

export const selectServer = sql(
  'select_postgres_server',
  { arguments: {}, row: { version: text(), major: integer(), encoding: text() } },
  `select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
    current_setting('server_encoding') as encoding`,
);

/** Throws if the PostgreSQL version is too old. If PostgreSQL cannot be reached, throws the connection error. */
export async function requireSupportedPostgres(url: string, connectTimeoutMs: number): Promise<void> {
  const select = (client: pg.Client) => runOn(client, selectServer, {});
  const [{ major } = { major: 0 }] = await withSession(url, select, { connectionTimeoutMillis: connectTimeoutMs });
  if (major >= oldestSupported) return;
  throw new MigrationError(`PostgreSQL ${major} is too old; ${oldestSupported} or newer is needed`);
}
