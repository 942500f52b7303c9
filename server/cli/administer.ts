import { type Config, loadConfig } from '../config.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { connectOrStart } from '../database/embedded/embedded-postgres.ts';
import { findCluster } from '../database/embedded/postgres-cluster.ts';
import { streamsOf } from '../database/migration-files.ts';
import { listPendingMigrations } from '../database/migrator.ts';
import { requireSupportedPostgres } from '../database/server-version.ts';
import { describeDatabase, explainUnreachable } from '../database/unavailable.ts';
import type { Administration } from '../domain/administration.ts';
import { systemClock } from '../domain/time.ts';
import type { Extension } from '../extensions/extension.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { collectAuditEntries } from '../jobs/audit-outbox.ts';

/** The error of a command that fails for a known reason. The CLI prints the message, which is one line. */
export class CliError extends Error {}

/** Runs an operator's work in one transaction. The transaction also stores the audit entries. */
export function administer<T>(work: (admin: Administration, config: Config) => Promise<T>): Promise<T> {
  return withInstallation(({ database, config }) =>
    database.transaction(async transaction => {
      const now = systemClock.now();
      const actor = { by: 'operator' } as const;
      const audit = collectAuditEntries(actor, now);
      const result = await work({ ...transaction, now, by: actor, audit: audit.trail }, config);
      await audit.leave(transaction);
      return result;
    }),
  );
}

export interface Installation {
  database: Database;
  config: Config;
  extensions: readonly Extension[];
}

/**
 * The command `cleanup` needs three connections: one holds the command's lock, one locks rows and one does the work.
 */
const poolSize = 3;

/**
 * Runs work with the database, the settings and the extensions of this server. Fails if migrations are pending. A
 * command does not apply migrations, because they would change the database of a running server of another version.
 * `changes` replaces settings that do not fit the command.
 */
export async function withInstallation<T>(
  work: (installation: Installation) => Promise<T>,
  changes: Partial<Config> = {},
): Promise<T> {
  const config = { ...loadConfig(), ...changes };
  await requireCluster(config);
  const extensions = await loadExtensions(config.EXTENSIONS);
  return withDatabase(config, async url => {
    await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
    const tolerated = config.TOLERATED_MIGRATIONS;
    const pending = await listPendingMigrations(url, streamsOf(extensions), { tolerated });
    if (pending.length > 0) {
      throw new CliError(`The database has ${pending.length} pending migration(s): run npm run cli -- migrate`);
    }
    return openForCommand(url, config, database => work({ database, config, extensions }));
  });
}

export async function openForCommand<T>(
  url: string,
  config: Config,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase({
    url,
    poolSize,
    connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
    statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    // Does not log a lost connection, because the running query fails anyway, and then the command reports the error.
    logger: { warn: () => {} },
  });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/**
 * Runs work with the URL of the database: DATABASE_DIRECT_URL, DATABASE_URL, or the embedded PostgreSQL in DATA_DIR. If
 * the embedded PostgreSQL is not running, starts it before the work and stops it after the work.
 */
export async function withDatabase<T>(
  { DATABASE_DIRECT_URL, DATABASE_URL, DATA_DIR }: Config,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const given = DATABASE_DIRECT_URL ?? DATABASE_URL;
  const { url, stop } =
    given === undefined ? await connectOrStart({ dataDir: DATA_DIR }) : { url: () => given, stop: async () => {} };
  try {
    return await work(url());
  } catch (error) {
    const reason = explainUnreachable(error);
    if (reason === undefined) throw error;
    throw new CliError(`Cannot reach the database ${describeDatabase(url())}: ${reason}`, { cause: error });
  } finally {
    await stop();
  }
}

/**
 * Throws if the database does not exist. Otherwise a command in the wrong directory would create a new, empty database
 * there.
 */
export async function requireCluster({ DATABASE_URL, DATA_DIR }: Config) {
  if (DATABASE_URL !== undefined || (await findCluster(DATA_DIR))) return;
  throw new CliError(
    `There is no database in ${DATA_DIR}: set DATABASE_URL or DATA_DIR, or create one with npm run cli -- migrate`,
  );
}
