import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
/** What the clusters of a run may take, generously. A container that was given little memory to share has less. */
const enoughBytes = 2 * 2 ** 30;

/**
 * A new directory for a PostgreSQL that need not survive: in memory where there is enough, because a database is a
 * thousand files, which many a disk takes longer to make than a test to run.
 */
export async function makeScratchDirectory(): Promise<string> {
  const directory = await mkdtemp(join((await isRoomy(memory)) ? memory : tmpdir(), 'idea-board-test-'));
  // As root, PostgreSQL runs as another user, who must be able to enter: else the cluster would live elsewhere.
  await chmod(directory, 0o755);
  return directory;
}

async function isRoomy(directory: string): Promise<boolean> {
  const room = await statfs(directory).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= enoughBytes;
}
