import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { sql as fragment, type Kysely } from 'kysely';
import type { Database } from '../database/database.ts';
import type { MigrationStream } from '../database/migration-files.ts';
import { resetSession, withSession } from '../database/migration-session.ts';
import { migrate } from '../database/migrator.ts';
import { query, runOn } from '../database/query.ts';
import type { Tables } from '../database/tables.ts';
import { compareTallies } from '../domain/ideas/compare-tallies.ts';
import { fillCanonicalAddresses } from '../domain/users/fill-canonical-addresses.ts';
import { type SnapshotFacts, type Source, withSnapshot } from './back-up.ts';
import { BackupError } from './backup-error.ts';
import { type Catalogs, selectTables } from './catalogs.ts';
import { readBackup } from './manifest.ts';
import { readProgramVersion, restoreDump } from './postgres-programs.ts';
import { requireSameKey } from './restore-backup.ts';
import { markSchema } from './restore-mark.ts';
import {
  type RowComparison,
  type SecretComparison,
  type TallyComparison,
  verifyRows,
  verifySecrets,
} from './verify-database.ts';
import { type MigrationReport, watchLocks } from './watch-locks.ts';

interface RehearsalOptions extends Source {
  /** The directory of the backup to rehearse with. Undefined for a dump of the running database. */
  backup: string | undefined;
  streams: readonly MigrationStream[];
  tolerated: readonly string[];
  /** Opens the copy with the timeouts of the command `upgrade --rehearse`. */
  openCopy<T>(url: string, work: (database: Database) => Promise<T>): Promise<T>;
}

export interface Rehearsal {
  /** The time of the snapshot that the copy contains. */
  created_at: string;
  /**
   * The time to fill the copy: the time of the restore. Without a backup, it includes the dump of the running database.
   */
  copy_ms: number;
  migrations: MigrationReport[];
  tables: RowComparison;
  tallies: TallyComparison;
  secrets: SecretComparison;
}

const tryLock = query('try_rehearsal_lock', db =>
  db.selectNoFrom(fragment<boolean>`pg_try_advisory_lock(4216839002)`.as('is_locked')),
);

/**
 * Migrates a copy of the database with this version of the server. The name of the copy contains the id of the
 * original. The next rehearsal therefore finds the copy of a killed rehearsal and drops it.
 */
export async function rehearseUpgrade(options: RehearsalOptions): Promise<Rehearsal> {
  const { database, url } = options;
  await readProgramVersion('pg_restore');
  return withSession(url, async client => {
    await resetSession(client);
    const [lock] = await runOn(client, tryLock, {});
    if (!lock?.is_locked) throw new BackupError('Another rehearsal of this database is running');
    const name = await createCopy(database.db);
    try {
      const copyUrl = new URL(url);
      copyUrl.pathname = `/${name}`;
      return await options.openCopy(copyUrl.href, copy => rehearseOn(copy, copyUrl.href, options));
    } finally {
      await dropDatabase(database.db, name);
    }
  });
}

async function rehearseOn(copy: Database, copyUrl: string, options: RehearsalOptions): Promise<Rehearsal> {
  const startedAt = performance.now();
  const facts = await fillCopy(copyUrl, options);
  await fragment`analyze`.execute(copy.db);
  const copyMs = Math.round(performance.now() - startedAt);
  const tables = await verifyRows(copy.db, facts);
  const migrations = await withSession(
    copyUrl,
    async watcher => {
      const { watch, reports } = watchLocks(watcher, () => selectTables(copy.db, markSchema));
      await migrate(copyUrl, options.streams, { tolerated: options.tolerated, watch });
      return reports;
    },
    { application_name: 'idea-board rehearsal' },
  );
  await fillCanonicalAddresses(copy);
  return {
    created_at: facts.created_at,
    copy_ms: copyMs,
    migrations,
    tables,
    tallies: await compareTallies(copy.db),
    secrets: await verifySecrets(copy.db, facts, options.appKey),
  };
}

/**
 * Fills the copy from the backup. Without a backup, pipes a dump of the running database into the copy and writes no
 * file.
 */
async function fillCopy(copyUrl: string, options: RehearsalOptions): Promise<SnapshotFacts> {
  const restore = (dump: Readable) => restoreDump(copyUrl, dump, { withRights: false });
  if (options.backup === undefined) {
    return withSnapshot(options, async ({ facts, dump }) => {
      await dump(restore);
      return facts;
    });
  }
  const { manifest, dumpFile } = await readBackup(options.backup);
  requireSameKey(manifest, options.appKey);
  await restore(createReadStream(dumpFile));
  return manifest;
}

/** Creates an empty database with the encoding and locale of the original. */
async function createCopy(db: Kysely<Tables>): Promise<string> {
  const original = await db
    .withTables<Catalogs>()
    .selectFrom('pg_database')
    .select(['oid', 'datcollate', 'datctype', fragment<string>`pg_encoding_to_char(encoding)`.as('encoding')])
    .where('datname', '=', fragment<string>`current_database()`)
    .executeTakeFirstOrThrow();
  const name = `idea_board_rehearsal_${original.oid}`;
  await dropDatabase(db, name);
  const { lit } = fragment;
  await fragment`create database ${fragment.id(name)} template template0 encoding ${lit(original.encoding)}
    lc_collate ${lit(original.datcollate)} lc_ctype ${lit(original.datctype)}`
    .execute(db)
    .catch((error: Error & { code?: string }) => {
      if (error.code !== insufficientPrivilege) throw error;
      throw new BackupError(
        'The database role may not create the copy: as a superuser, run alter role ... createdb for the role in DATABASE_URL',
        { cause: error },
      );
    });
  return name;
}

const insufficientPrivilege = '42501';

async function dropDatabase(db: Kysely<Tables>, name: string) {
  await fragment`drop database if exists ${fragment.id(name)} with (force)`.execute(db);
}
