import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { BackupError } from './backup-error.ts';

const manifestName = 'manifest.json';
export const dumpName = 'database.dump';

const Count = z.int().min(0);

/** The file that describes a backup. `version` increases if the meaning of a field changes. */
const Manifest = z.object({
  format: z.literal('idea-board-backup'),
  version: z.literal(1),
  /** The time of the snapshot that the backup contains. */
  created_at: z.iso.datetime({ offset: true }),
  idea_board: z.string(),
  postgres: z.string(),
  pg_dump: z.string(),
  /** The last applied migration of the server and of each extension. */
  migrations: z.record(z.string(), z.string()),
  /**
   * The identity of the database. Each cursor of the event list contains it, so that the server recognizes cursors of
   * another database.
   */
  incarnation: z.string(),
  app_key_fingerprint: z.string(),
  secrets: z.object({ total: Count, decrypted: Count }),
  /** The number of rows of each table. */
  tables: z.record(z.string(), Count),
  files: z.array(z.object({ name: z.literal(dumpName), bytes: Count, sha256: z.string() })).length(1),
});

export type Manifest = z.infer<typeof Manifest>;

/**
 * Options for writing a new file. Only the operator can read the file, and the write ends when the content is on the
 * disk.
 */
export const newFile = { flag: 'wx', mode: 0o600, flush: true } as const;

export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  await writeFile(join(directory, manifestName), `${JSON.stringify(manifest, null, 2)}\n`, newFile);
}

/** Reads the manifest of a backup, and checks the checksum of its dump. */
export async function readBackup(directory: string): Promise<{ manifest: Manifest; dumpFile: string }> {
  const manifest = await readManifest(directory);
  const dumpFile = join(directory, dumpName);
  const hash = createHash('sha256');
  await pipeline(createReadStream(dumpFile), hash).catch((error: Error) => {
    throw new BackupError(`The backup is incomplete: ${error.message}`, { cause: error });
  });
  if (hash.digest('hex') !== checksumIn(manifest)) {
    throw new BackupError(`The backup is damaged: ${dumpFile} does not have the checksum in the manifest`);
  }
  return { manifest, dumpFile };
}

export function checksumIn({ files }: Manifest): string | undefined {
  return files[0]?.sha256;
}

async function readManifest(directory: string): Promise<Manifest> {
  const path = join(directory, manifestName);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(`${directory} is not a backup: ${error.message}`, { cause: error });
  });
  try {
    return Manifest.parse(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    throw new BackupError(`${path} is not a manifest that this version can read: ${reason.replace(/\s+/g, ' ')}`);
  }
}
