import { runMigrations } from 'graphile-worker';
import { sql as fragment } from 'kysely';
import pg from 'pg';
import type { Queryable } from './database.ts';
import {
  coreStream,
  listFiles,
  MigrationError,
  type MigrationFile,
  type MigrationName,
  type MigrationStream,
  readStreams,
} from './migration-files.ts';
import {
  applyMigration,
  type LockOptions,
  lockMigrations,
  type MigrationWatch,
  migrationSession,
  resetSession,
  type TableLockOptions,
  withSession,
} from './migration-session.ts';
import { query, type RowOf, runOn } from './query.ts';
import { sql, text, time } from './sql.ts';

const findMigrationsTable = query('find_migrations_table', db =>
  db.selectNoFrom(fragment<boolean>`to_regclass('schema_migrations') is not null`.as('exists')),
);

type AppliedMigration = RowOf<typeof selectApplied>;

/**
 * Reads the applied migrations. The table of migrations has no entity, because this table exists before the first
 * migration runs.
 */
const selectApplied = sql(
  'select_applied_migrations',
  { arguments: {}, row: { stream: text(), name: text(), checksum: text(), applied_at: time() } },
  'select stream, name, checksum, applied_at from schema_migrations order by stream, name',
);

export interface CheckOptions {
  /** The migrations of a newer version that this version can work with, in the format `<stream>/<name>`. */
  tolerated?: readonly string[];
}

export interface MigrateOptions extends CheckOptions, LockOptions, TableLockOptions {}

/**
 * Applies the pending migrations of each directory, in the order of their numbers. Returns the migrations that it
 * applied.
 */
export async function migrate(
  url: string,
  streams: readonly MigrationStream[] = [coreStream],
  options: MigrateOptions = {},
): Promise<MigrationName[]> {
  const files = await readStreams(streams);
  return withSession(url, async client => {
    await resetSession(client);
    await lockMigrations(client, options);
    await client.query(`create table if not exists schema_migrations (
      stream text not null,
      name text not null,
      checksum text not null,
      applied_at timestamptz(3) not null default now(),
      constraint schema_migrations_pkey primary key (stream, name)
    )`);
    const applied = await readApplied(client);
    checkApplied(files, applied, streams, options);
    // Creates graphile-worker's schema first, because the server's SQL functions add jobs to graphile-worker's queue.
    await around(options)({ stream: 'graphile_worker', name: 'migrations of the job queue' }, () => migrateQueue(url));
    const pending = pendingOf(files, applied);
    if (pending.length > 0) await applyPending(client, files, applied.map(idOf), options);
    return pending;
  });
}

/**
 * Lets graphile-worker migrate its schema, with a pool that handles errors until it is closed. A pool of
 * graphile-worker would remove its error handler before its connection is closed. If PostgreSQL then ended the
 * connection, the error would end the process.
 */
async function migrateQueue(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, application_name: migrationSession, max: 1 });
  pool.on('error', () => {});
  pool.on('connect', client => client.on('error', () => {}));
  try {
    await runMigrations({ pgPool: pool });
  } finally {
    await pool.end();
  }
}

/** Lists the migrations that migrate() would apply. Changes nothing. */
export async function listPendingMigrations(
  url: string,
  streams: readonly MigrationStream[] = [coreStream],
  options: CheckOptions = {},
): Promise<MigrationName[]> {
  const files = await readStreams(streams);
  return withSession(url, async client => {
    const applied = await readApplied(client);
    checkApplied(files, applied, streams, options);
    return pendingOf(files, applied);
  });
}

/**
 * Whether migrations are pending. Compares only names, so it is quick enough for the readiness probe. The table of
 * migrations must exist.
 */
export async function hasPendingMigrations(
  database: Queryable,
  streams: readonly MigrationStream[] = [coreStream],
): Promise<boolean> {
  const [files, applied] = await Promise.all([listFiles(streams), database.query(selectApplied, {})]);
  return pendingOf(files, applied).length > 0;
}

/** The migrations of one stream (the server's or an extension's directory), for operators. */
export interface StreamState {
  stream: string;
  appliedCount: number;
  /** The applied migration with the highest number, and the time when it was applied. */
  last: { name: string; applied_at: string } | undefined;
  pending: string[];
  /** Applied migrations that have no file on this server, such as migrations of a newer version of the server. */
  unknown: string[];
}

/**
 * Reads the state of each migration stream (the server's or an extension's directory) that has files or applied
 * migrations. The table of migrations must exist.
 */
export async function readStreamStates(
  database: Queryable,
  streams: readonly MigrationStream[],
): Promise<StreamState[]> {
  const [files, applied] = await Promise.all([listFiles(streams), database.query(selectApplied, {})]);
  const names = new Set([...streams.map(({ name }) => name), ...applied.map(({ stream }) => stream)]);
  return [...names].map(stream => {
    const done = applied.filter(one => one.stream === stream);
    const known = files.filter(one => one.stream === stream);
    return {
      stream,
      appliedCount: done.length,
      last: done.at(-1),
      pending: pendingOf(known, done).map(({ name }) => name),
      unknown: pendingOf(done, known).map(({ name }) => name),
    };
  });
}

async function applyPending(client: pg.Client, files: MigrationFile[], executed: string[], options: TableLockOptions) {
  const watched = around(options);
  // Loads Umzug only if migrations are pending. Loading takes a tenth of a second and 10 MB, and most processes have no
  // pending migrations.
  const { Umzug } = await import('umzug');
  const umzug = new Umzug({
    migrations: files.map(file => ({
      name: idOf(file),
      up: () => watched(file, () => applyMigration(client, file, options)),
    })),
    storage: {
      executed: async () => executed,
      // Does nothing, because applyMigration() has already recorded the migration.
      logMigration: async () => {},
      unlogMigration: async () => {
        throw new MigrationError('Migrations only go forward');
      },
    },
    logger: undefined,
  });
  await umzug.up().catch((error: Error) => {
    // Unwraps the error of Umzug. The original error of applyMigration() already names the file.
    throw error.cause instanceof MigrationError ? error.cause : error;
  });
}

function around({ watch }: TableLockOptions): MigrationWatch['around'] {
  return watch?.around ?? ((_, work) => work());
}

/** Returns the migrations in the first list that are not in the second. */
function pendingOf(files: MigrationName[], applied: MigrationName[]): MigrationName[] {
  const names = new Set(applied.map(idOf));
  return files.filter(file => !names.has(idOf(file))).map(({ stream, name }) => ({ stream, name }));
}

function idOf({ stream, name }: MigrationName): string {
  return `${stream}/${name}`;
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const rows = await runOn(client, findMigrationsTable, {});
  if (!rows[0]?.exists) return [];
  return runOn(client, selectApplied, {});
}

/**
 * Throws if a newer version has applied a migration that this version does not tolerate, or if a file changed after it
 * was applied.
 */
function checkApplied(
  files: MigrationFile[],
  applied: AppliedMigration[],
  streams: readonly MigrationStream[],
  { tolerated = [] }: CheckOptions,
) {
  const ours = applied.filter(one => streams.some(({ name }) => name === one.stream));
  const filesById = new Map(files.map(file => [idOf(file), file]));
  const unknown = ours.map(idOf).filter(id => !filesById.has(id) && !tolerated.includes(id));
  if (unknown.length > 0) {
    const migrations =
      unknown.length === 1 ? `migration ${unknown}, which is` : `migrations ${unknown.join(', ')}, which are`;
    throw new MigrationError(
      `The database is newer than this version of the server: it has the ${migrations} not among the files`,
    );
  }
  const changed = ours.find(one => (filesById.get(idOf(one))?.checksum ?? one.checksum) !== one.checksum);
  if (changed) throw new MigrationError(`${idOf(changed)} was changed after it was applied; make a new migration`);
}
