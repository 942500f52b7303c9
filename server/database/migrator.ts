import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import type { Queryable } from './database.ts';
import { statement } from './statement.ts';

/** A directory of migrations with its own numbering: the core's, or an extension's. */
export interface MigrationStream {
  name: string;
  directory: string;
}

export const coreStream: MigrationStream = {
  name: 'core',
  directory: fileURLToPath(new URL('../../migrations', import.meta.url)),
};

export interface MigrationName {
  stream: string;
  name: string;
}

interface MigrationFile extends MigrationName {
  sql: string;
  checksum: string;
}

interface AppliedMigration extends MigrationName {
  checksum: string;
}

/** The migrations and the database do not fit together; the message says which file and why. */
export class MigrationError extends Error {}

/** Serializes migrating processes: whoever comes second waits, and then finds nothing left to do. */
const lockId = 4_216_839_001;

/** Applies every pending migration in ascending order and answers which they were. */
export async function migrate(url: string, streams: MigrationStream[] = [coreStream]): Promise<MigrationName[]> {
  const files = await readStreams(streams);
  return withClient(url, async client => {
    await client.query('select pg_advisory_lock($1)', [lockId]);
    await client.query(`create table if not exists schema_migrations (
      stream text not null,
      name text not null,
      checksum text not null,
      applied_at timestamptz(3) not null default now(),
      constraint schema_migrations_pkey primary key (stream, name)
    )`);
    const applied = await readApplied(client);
    checkApplied(files, applied, streams);
    // The queue's own schema: our functions add jobs to it.
    await runMigrations({ connectionString: url });
    // Read when it is needed: it takes a tenth of a second, and most processes never migrate.
    const { Umzug } = await import('umzug');
    const done: MigrationName[] = [];
    for (const stream of streams) {
      const ofStream = files.filter(file => file.stream === stream.name);
      const umzug = new Umzug({
        migrations: ofStream.map(file => ({ name: file.name, up: () => apply(client, file) })),
        storage: {
          executed: async () => applied.filter(one => one.stream === stream.name).map(one => one.name),
          // apply() records the migration itself, in the transaction that makes the change.
          logMigration: async () => {},
          unlogMigration: async () => {
            throw new MigrationError('Migrations only go forward');
          },
        },
        logger: undefined,
      });
      const ofThisRun = await umzug.up().catch((error: Error) => {
        // Umzug wraps what apply() throws, which names the file already.
        throw error.cause instanceof MigrationError ? error.cause : error;
      });
      done.push(...ofThisRun.map(({ name }) => ({ stream: stream.name, name })));
    }
    return done;
  });
}

/** The migrations that migrate() would apply. Reads only. */
export async function listPendingMigrations(
  url: string,
  streams: MigrationStream[] = [coreStream],
): Promise<MigrationName[]> {
  const files = await readStreams(streams);
  return withClient(url, async client => {
    const applied = await readApplied(client);
    checkApplied(files, applied, streams);
    return pendingOf(files, applied);
  });
}

/** Whether a migration is pending, by names alone: cheap enough for a probe. The table is there. */
export async function hasPendingMigrations(
  database: Queryable,
  streams: MigrationStream[] = [coreStream],
): Promise<boolean> {
  const [files, applied] = await Promise.all([listFiles(streams), database.query(selectAppliedNames, [])]);
  return pendingOf(files, applied).length > 0;
}

const selectAppliedNames = statement<MigrationName>(
  'select_applied_migrations',
  'select stream, name from schema_migrations',
);

async function listFiles(streams: MigrationStream[]): Promise<MigrationName[]> {
  const names = await Promise.all(streams.map(listStream));
  return streams.flatMap((stream, index) => (names[index] ?? []).map(name => ({ stream: stream.name, name })));
}

/** What is in the files and not among the applied, in order. */
function pendingOf(files: MigrationName[], applied: MigrationName[]): MigrationName[] {
  const names = new Set(applied.map(one => `${one.stream}/${one.name}`));
  return files.filter(file => !names.has(`${file.stream}/${file.name}`)).map(({ stream, name }) => ({ stream, name }));
}

async function apply(client: pg.Client, file: MigrationFile) {
  const record = () =>
    client.query('insert into schema_migrations (stream, name, checksum) values ($1, $2, $3)', [
      file.stream,
      file.name,
      file.checksum,
    ]);
  try {
    // Some statements, such as create index concurrently, cannot run in a transaction: their file says so.
    if (/^-- no transaction$/m.test(file.sql)) {
      await client.query(file.sql);
      await record();
      return;
    }
    await client.query('begin');
    await client.query(file.sql);
    await record();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw new MigrationError(`Migration ${file.stream}/${file.name} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<{ exists: boolean }>(
    `select to_regclass('schema_migrations') is not null as exists`,
  );
  if (!rows[0]?.exists) return [];
  const result = await client.query<AppliedMigration>(
    'select stream, name, checksum from schema_migrations order by stream, name',
  );
  return result.rows;
}

/** Refuses a database that another version of the code has migrated further, and files that changed afterwards. */
function checkApplied(files: MigrationFile[], applied: AppliedMigration[], streams: MigrationStream[]) {
  for (const one of applied) {
    if (!streams.some(stream => stream.name === one.stream)) continue;
    const file = files.find(({ stream, name }) => stream === one.stream && name === one.name);
    if (!file) {
      throw new MigrationError(
        `The database is newer than this version of the server: it has the migration ${one.stream}/${one.name}, which is not among the files`,
      );
    }
    if (file.checksum !== one.checksum) {
      throw new MigrationError(`${one.stream}/${one.name} was changed after it was applied; make a new migration`);
    }
  }
}

async function readStreams(streams: MigrationStream[]): Promise<MigrationFile[]> {
  return (await Promise.all(streams.map(readStream))).flat();
}

async function readStream(source: MigrationStream): Promise<MigrationFile[]> {
  const { name: stream, directory } = source;
  const names = await listStream(source);
  for (const [index, name] of names.entries()) {
    const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
    if (!number) throw new MigrationError(`${stream}/${name} is not named like 0001_what_it_does.sql`);
    if (Number(number) !== index + 1) {
      throw new MigrationError(`${stream}/${name} has the wrong number: the next one is ${numberOf(index + 1)}`);
    }
  }
  return Promise.all(
    names.map(async name => {
      const sql = await readFile(`${directory}/${name}`, 'utf8');
      return { stream, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function listStream({ directory }: MigrationStream): Promise<string[]> {
  return (await readdir(directory)).filter(name => name.endsWith('.sql')).sort();
}

function numberOf(position: number): string {
  return String(position).padStart(4, '0');
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'idea-board migrate' });
  // The error of a connection that breaks reaches us through the query that it breaks.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
