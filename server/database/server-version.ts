import pg from 'pg';
import { MigrationError } from './migration-error.ts';

const oldestSupported = 14;

/** Refuses a PostgreSQL that is too old, and fails at once and plainly where none can be reached. */
export async function requireSupportedPostgres(url: string, connectTimeoutMs: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => {});
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
    const major = Math.floor(Number(rows[0]?.server_version_num) / 10_000);
    if (major < oldestSupported) {
      throw new MigrationError(`PostgreSQL ${major} is too old; ${oldestSupported} or newer is needed`);
    }
  } finally {
    await client.end();
  }
}
