import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readIfExists } from './read-if-exists.ts';

/**
 * Means that the database cannot be migrated, for example because a migration file was changed. The message gives the
 * reason.
 */
export class MigrationError extends Error {}

/**
 * A directory of migrations with its own numbering. The server has one such directory, and each extension may have
 * another.
 */
export interface MigrationStream {
  name: string;
  directory: string;
}

export const coreStream: MigrationStream = {
  name: 'core',
  directory: fileURLToPath(new URL('../../migrations', import.meta.url)),
};

/**
 * Returns the migration streams: the directory of the server, and the directories of extensions. The server's stream
 * comes first, because migrations of extensions may refer to the server's tables.
 */
export function streamsOf(extensions: readonly { migrations: MigrationStream | undefined }[]): MigrationStream[] {
  return [coreStream, ...extensions.flatMap(({ migrations }) => migrations ?? [])];
}

export interface MigrationName {
  stream: string;
  name: string;
}

export interface MigrationFile extends MigrationName {
  sql: string;
  checksum: string;
}

/**
 * Reads the migration files of several streams (the directories of the server and of its extensions). Throws if a
 * file's name is invalid, if the numbers are not consecutive, or if a file does not match its checksum in SHA256SUMS.
 */
export async function readStreams(streams: readonly MigrationStream[]): Promise<MigrationFile[]> {
  return (await Promise.all(streams.map(readStream))).flat();
}

/**
 * Lists the names of the migrations. The function does not read the files, so it is quick enough for the readiness
 * probe.
 */
export async function listFiles(streams: readonly MigrationStream[]): Promise<MigrationName[]> {
  const names = await Promise.all(streams.map(listStream));
  return streams.flatMap((stream, index) => (names[index] ?? []).map(name => ({ stream: stream.name, name })));
}

function numberIn(name: string): string | undefined {
  return /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
}

export function numberAt(place: number): string {
  return String(place).padStart(4, '0');
}

/**
 * Computes a file's checksum. Git may convert the line ends at checkout, so the checksum ignores the kind of line ends.
 */
export function checksumOf(sql: string): string {
  return createHash('sha256').update(withPlainLines(sql)).digest('hex');
}

/**
 * Reads the checksums in the file SHA256SUMS, by file name. A migration with a checksum in this file must never change
 * again.
 */
export async function readLandedChecksums(directory: string): Promise<Map<string, string>> {
  const lines = withPlainLines((await readIfExists(`${directory}/SHA256SUMS`)) ?? '').split('\n');
  return new Map(
    lines.filter(line => line !== '').map(line => line.split(/ +/, 2).reverse() as [name: string, checksum: string]),
  );
}

async function readStream(source: MigrationStream): Promise<MigrationFile[]> {
  const { name: stream, directory } = source;
  const names = await listStream(source);
  checkNumbers(stream, names);
  const landed = await readLandedChecksums(directory);
  return Promise.all(
    names.map(async name => {
      const sql = withPlainLines(await readFile(`${directory}/${name}`, 'utf8'));
      const checksum = checksumOf(sql);
      if (landed.has(name) && landed.get(name) !== checksum) {
        throw new MigrationError(`${stream}/${name} was changed after it landed; make a new migration`);
      }
      return { stream, name, sql, checksum };
    }),
  );
}

async function listStream({ name: stream, directory }: MigrationStream): Promise<string[]> {
  const entries = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    throw new MigrationError(`The migrations of ${stream} cannot be read: ${error.message}`, { cause: error });
  });
  return entries.filter(name => name.endsWith('.sql')).sort();
}

function checkNumbers(stream: string, names: string[]) {
  for (const [index, name] of names.entries()) {
    const number = numberIn(name);
    if (!number) throw new MigrationError(`${stream}/${name} is not named like 0001_add_a_table.sql`);
    const before = names[index - 1];
    if (before !== undefined && numberIn(before) === number) {
      throw new MigrationError(`${stream}/${before} and ${stream}/${name} have the same number; rename one of them`);
    }
    const expected = numberAt(index + 1);
    if (number !== expected) {
      throw new MigrationError(`${stream}/${name} has the wrong number: the next one is ${expected}`);
    }
  }
}

function withPlainLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
