import { type Config, loadConfig } from '../config.ts';
import { openDatabase } from '../database/database.ts';
import { connectOrStart } from '../database/embedded-postgres.ts';
import { describeDatabase, explainUnreachable } from '../database/explain-unreachable.ts';
import { listPendingMigrations } from '../database/migrator.ts';
import { findCluster } from '../database/postgres-cluster.ts';
import { requireSupportedPostgres } from '../database/server-version.ts';
import type { Administration } from '../domain/administration.ts';
import { systemClock } from '../domain/clock.ts';
import { CliError } from './cli-error.ts';

/**
 * Runs an operator's work in one transaction on the installation's database, which must be migrated: a command that
 * migrated in passing would change the database of a server of another version.
 */
export async function administer<T>(work: (admin: Administration, config: Config) => Promise<T>): Promise<T> {
  const config = loadConfig();
  await requireCluster(config);
  return withDatabase(config, async url => {
    await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
    const pending = await listPendingMigrations(url);
    if (pending.length > 0) {
      throw new CliError(`The database has ${pending.length} pending migration(s): run npm run cli -- migrate`);
    }
    const database = await openDatabase({
      url,
      poolSize: 2,
      connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
      statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
      // A connection that is lost fails the query on it, and so the command.
      logger: { warn: () => {} },
    });
    try {
      return await database.transaction(({ em, query }) => work({ em, query, now: systemClock.now() }, config));
    } finally {
      await database.close();
    }
  });
}

/**
 * Gives work the URL of the database: the one of DATABASE_URL, else that of the embedded PostgreSQL in DATA_DIR, which
 * is started for the time of the command unless a server runs it.
 */
export async function withDatabase<T>(
  { DATABASE_URL, DATA_DIR }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (DATABASE_URL !== undefined) return reach(DATABASE_URL, work);
  const postgres = await connectOrStart({ dataDir: DATA_DIR });
  try {
    return await reach(postgres.url(), work);
  } finally {
    await postgres.stop();
  }
}

/** A command in the wrong directory must not make a new, empty installation there. */
async function requireCluster({ DATABASE_URL, DATA_DIR }: Config) {
  if (DATABASE_URL !== undefined || (await findCluster(DATA_DIR))) return;
  throw new CliError(
    `There is no database in ${DATA_DIR}: set DATABASE_URL or DATA_DIR, or make one with npm run cli -- migrate`,
  );
}

async function reach<T>(url: string, work: (url: string) => Promise<T>): Promise<T> {
  try {
    return await work(url);
  } catch (error) {
    const reason = explainUnreachable(error);
    if (reason === undefined) throw error;
    throw new CliError(`Cannot reach the database ${describeDatabase(url)}: ${reason}`, { cause: error });
  }
}
