import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { sql as fragment, type Kysely } from 'kysely';
import type { Database } from '../database/database.ts';
import type { MigrationStream } from '../database/migration-files.ts';
import { lockMigrations, resetSession, withSession } from '../database/migration-session.ts';
import { listPendingMigrations } from '../database/migrator.ts';
import type { Tables } from '../database/tables.ts';
import { BackupError } from './backup-error.ts';
import type { Catalogs } from './catalogs.ts';
import { checksumIn, type Manifest, readBackup } from './manifest.ts';
import { readProgramVersion, restoreDump, restoreSession } from './postgres-programs.ts';
import { beginRestore, dropMark, readRestoreState } from './restore-mark.ts';
import { fingerprintOf } from './secrets.ts';
import { isVerified, type Verification, verifyDatabase } from './verify-database.ts';

interface RestoreOptions {
  database: Database;
  url: string;
  streams: readonly MigrationStream[];
  tolerated: readonly string[];
  withRights: boolean;
  /** The application key for the verification. Undefined if the caller wants no verification. */
  appKey: Uint8Array | undefined;
}

export interface Restoration {
  manifest: Manifest;
  /** Whether an earlier restore of this backup had restored the rows, but was killed or found differences. */
  is_continued: boolean;
  pending: string[];
  verification: Verification | null;
}

/** How long a restore waits for another process that restores or migrates the same database. */
const lockWaitMs = 5_000;

/**
 * Restores a backup into an empty database, and marks the database until the verification succeeds. If the restore is
 * repeated, the mark shows that an earlier restore has already filled the database.
 */
export async function restoreBackup(directory: string, options: RestoreOptions): Promise<Restoration> {
  const { database, url, appKey, streams, tolerated } = options;
  const { manifest, dumpFile } = await readBackup(directory);
  if (appKey) requireSameKey(manifest, appKey);
  await readProgramVersion('pg_restore');
  return withSession(url, async client => {
    // The lock of migrations also keeps a starting server away from the database.
    await resetSession(client);
    await lockMigrations(client, { waitMs: lockWaitMs });
    const isContinued = await prepare(database.db, checksumIn(manifest) ?? '');
    if (!isContinued) await restoreDump(url, createReadStream(dumpFile), options);
    await fragment`analyze`.execute(database.db);
    const pending = await listPendingMigrations(url, streams, { tolerated });
    const isMigrated = pending.length === 0;
    const verification = appKey ? await verifyDatabase(database.db, manifest, { appKey, isMigrated }) : null;
    if (!verification || isVerified(verification)) await dropMark(database.db);
    const names = pending.map(({ stream, name }) => `${stream}/${name}`);
    return { manifest, is_continued: isContinued, pending: names, verification };
  });
}

export function requireSameKey(manifest: Pick<Manifest, 'app_key_fingerprint'>, appKey: Uint8Array) {
  const given = fingerprintOf(appKey);
  if (given === manifest.app_key_fingerprint) return;
  throw new BackupError(
    `APP_KEY is not the key of the backup: its fingerprint is ${given}, and the backup needs the key with the fingerprint ${manifest.app_key_fingerprint}`,
  );
}

/** Marks the database. Returns true if an earlier restore of the same backup has already restored all rows. */
async function prepare(db: Kysely<Tables>, sha256: string): Promise<boolean> {
  await endKilledRestore(db);
  const { isEmpty, begun } = await readRestoreState(db);
  if (!isEmpty && begun === undefined) {
    throw new BackupError('The database is not empty: create a new database for the restore');
  }
  if (!isEmpty && begun !== sha256) {
    throw new BackupError('The database has the rows of another backup: create a new database for the restore');
  }
  if (isEmpty) await beginRestore(db, sha256);
  return !isEmpty;
}

/**
 * The pg_restore of a killed restore may still run. Ends its session, so that PostgreSQL rolls back its transaction.
 */
async function endKilledRestore(db: Kysely<Tables>) {
  const ended = db
    .withTables<Catalogs>()
    .selectFrom('pg_stat_activity')
    .select(fragment`pg_terminate_backend(pid)`.as('ended'))
    .where('datname', '=', fragment<string>`current_database()`)
    .where('application_name', '=', restoreSession);
  while ((await ended.execute()).length > 0) await delay(50);
}
