import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { coreStream, type MigrationStream } from '../../server/database/migration-files.ts';

/** Returns all core migrations with a lower number than the given number, such as '0010'. */
export async function migrationsBefore(number: string): Promise<MigrationStream> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-migrations-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const names = (await readdir(coreStream.directory)).filter(name => name.endsWith('.sql') && name < number);
  for (const name of names) await copyFile(join(coreStream.directory, name), join(directory, name));
  return { name: coreStream.name, directory };
}
