import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
/** An upper limit for the clusters of a run. Containers often have a smaller /dev/shm. */
const enoughBytes = 2 * 2 ** 30;

/**
 * A new directory for a temporary PostgreSQL. It is in memory if there is enough, because a database has a thousand files
 * and a slow disk takes longer to create them than a test takes to run.
 */
export async function makeScratchDirectory(): Promise<string> {
  const directory = await mkdtemp(join((await isRoomy(memory)) ? memory : tmpdir(), 'idea-board-test-'));
  // If the tests run as root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(directory, 0o755);
  return directory;
}

async function isRoomy(directory: string): Promise<boolean> {
  const room = await statfs(directory).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= enoughBytes;
}
