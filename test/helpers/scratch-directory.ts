import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
/** The memory that the PostgreSQL directories of a test run need. Containers often have a smaller /dev/shm. */
const enoughBytes = 2 * 2 ** 30;

/**
 * Creates a directory for a temporary PostgreSQL, by default in memory if enough memory is free. A new database has a
 * thousand files, and a slow disk needs longer to create them than a test needs to run.
 */
export async function makeScratchDirectory(isInMemory = true): Promise<string> {
  const parent = isInMemory && (await isRoomy(memory)) ? memory : tmpdir();
  const directory = await mkdtemp(join(parent, 'idea-board-test-'));
  // If the tests run as root, PostgreSQL runs as another system user, who needs access to the directory.
  await chmod(directory, 0o755);
  return directory;
}

async function isRoomy(directory: string): Promise<boolean> {
  const room = await statfs(directory).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= enoughBytes;
}
