import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
/**
 * The number of bytes that the PostgreSQL directories of a test run need. In a container, /dev/shm is often smaller.
 */
const enoughBytes = 2 * 2 ** 30;

/**
 * Creates a directory for a temporary PostgreSQL, by default in memory if enough memory is free. A new database
 * consists of a thousand files. Creating these files on a slow disk takes longer than running a test.
 */
export async function makeScratchDirectory(isInMemory = true): Promise<string> {
  const parent = isInMemory && (await isRoomy(memory)) ? memory : tmpdir();
  const directory = await mkdtemp(join(parent, 'idea-board-test-'));
  // If root runs the tests, PostgreSQL runs as another system user. This user needs access to the directory.
  await chmod(directory, 0o755);
  return directory;
}

async function isRoomy(directory: string): Promise<boolean> {
  const room = await statfs(directory).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= enoughBytes;
}
