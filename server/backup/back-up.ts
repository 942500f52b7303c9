import { createHash } from 'node:crypto';
import { open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { sql as fragment, type Kysely } from 'kysely';
import type { Database, QueryBuilding } from '../database/database.ts';
import { buildDirectory } from '../database/embedded/build-directory.ts';
import { coreStream } from '../database/migration-files.ts';
import { readStreamStates } from '../database/migrator.ts';
import { selectServer } from '../database/server-version.ts';
import type { Tables } from '../database/tables.ts';
import { selectIncarnation } from '../domain/events/event-feed.ts';
import { BackupError } from './backup-error.ts';
import { countRows, hasColumns } from './catalogs.ts';
import { dumpName, type Manifest, newFile, writeManifest } from './manifest.ts';
import { dumpDatabase, readProgramVersion } from './postgres-programs.ts';
import { markSchema } from './restore-mark.ts';
import { countSecrets, fingerprintOf } from './secrets.ts';

const packageFile = new URL('../../package.json', import.meta.url);

export interface Source {
  database: Database;
  url: string;
  appKey: Uint8Array;
}

/**
 * Writes a backup into a new directory. The directory gets its name when its files are complete and on the disk, so a
 * killed backup leaves no directory that looks complete. The next backup in the same parent directory removes the
 * leftover files.
 */
export async function backUp(source: Source, target: string): Promise<Manifest> {
  const directory = resolve(target);
  const pgDump = await readProgramVersion('pg_dump');
  let manifest: Manifest | undefined;
  const isNew = await buildDirectory(directory, async partial => {
    manifest = await withSnapshot(source, async ({ facts, dump }) => {
      const file = await writeDump(join(partial, dumpName), dump);
      return { ...facts, pg_dump: pgDump, files: [{ name: dumpName, ...file }] };
    });
    await writeManifest(partial, manifest);
    await syncDirectory(partial);
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined || error.syscall === 'connect') throw error;
    throw new BackupError(`The backup cannot be written: ${error.message}`, { cause: error });
  });
  if (!isNew || !manifest) throw new BackupError(`${directory} already exists: name a new directory`);
  await syncDirectory(dirname(directory));
  return manifest;
}

export type SnapshotFacts = Omit<Manifest, 'pg_dump' | 'files'>;

/**
 * Reads the facts for the manifest in the same snapshot as the dump. So the manifest and the dump agree, even if
 * servers change rows meanwhile.
 */
export async function withSnapshot<T>(
  { database, url, appKey }: Source,
  use: (snapshot: {
    facts: SnapshotFacts;
    dump: (target: (dump: Readable) => Promise<void>) => Promise<void>;
  }) => Promise<T>,
): Promise<T> {
  return database.transaction(async transaction => {
    const { db } = transaction;
    await fragment`set transaction isolation level repeatable read, read only`.execute(db);
    // Turns off the timeout for an idle transaction, because this transaction is idle while pg_dump runs.
    await fragment`set local idle_in_transaction_session_timeout = 0`.execute(db);
    const facts = await readFacts(transaction, appKey);
    const { snapshot } = await db
      .selectNoFrom(fragment<string>`pg_export_snapshot()`.as('snapshot'))
      .executeTakeFirstOrThrow();
    return use({ facts, dump: target => dumpDatabase(url, snapshot, target) });
  });
}

async function readFacts(transaction: QueryBuilding, appKey: Uint8Array): Promise<SnapshotFacts> {
  const { db } = transaction;
  if (!(await hasColumns(db, 'schema_migrations', ['name']))) {
    throw new BackupError('The database has no tables of Idea-Board');
  }
  const [server] = await transaction.query(selectServer, {});
  const states = await readStreamStates(transaction, [coreStream]);
  const secrets = await countSecrets(db, appKey);
  if (secrets.total > 0 && secrets.decrypted === 0) {
    throw new BackupError(
      `APP_KEY decrypts none of the ${secrets.total} secrets in the database: set the key of the servers`,
    );
  }
  return {
    format: 'idea-board-backup',
    version: 1,
    created_at: await readTime(db),
    idea_board: JSON.parse(await readFile(packageFile, 'utf8')).version,
    postgres: server?.version ?? '',
    migrations: Object.fromEntries(states.map(({ stream, last }) => [stream, last?.name ?? ''])),
    incarnation: await selectIncarnation(db),
    app_key_fingerprint: fingerprintOf(appKey),
    secrets,
    tables: await countRows(db, markSchema),
  };
}

async function readTime(db: Kysely<Tables>): Promise<string> {
  const { now } = await db.selectNoFrom(fragment<string>`now()`.as('now')).executeTakeFirstOrThrow();
  return new Date(now).toISOString();
}

async function writeDump(path: string, dump: (target: (dump: Readable) => Promise<void>) => Promise<void>) {
  const hash = createHash('sha256');
  let bytes = 0;
  const measure = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  };
  await dump(output => writeFile(path, measure(output), newFile));
  return { bytes, sha256: hash.digest('hex') };
}

/** Flushes a directory, so that a crash of the machine does not lose the names of its files. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path);
  await directory.sync().finally(() => directory.close());
}
