import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Matches the name of an unfinished directory. The name contains the id of the process that builds it. */
const unfinished = /\.idea-board-new-(\d+)-[0-9a-f]{8}$/;

/**
 * Creates a directory completely or not at all. `fill` works on a temporary directory beside `target`. That directory
 * is then renamed to `target`. Returns false if `target` already exists, for example because another process was
 * faster.
 */
export async function buildDirectory(target: string, fill: (directory: string) => Promise<void>): Promise<boolean> {
  await removeAbandoned(dirname(target));
  const sibling = `${target}.idea-board-new-${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await mkdir(sibling, { mode: 0o700 });
    await fill(sibling);
    return await rename(sibling, target).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '')) return false;
        throw error;
      },
    );
  } finally {
    await rm(sibling, { recursive: true, force: true });
  }
}

async function removeAbandoned(parent: string) {
  for (const name of await readdir(parent)) {
    const pid = Number(name.match(unfinished)?.[1]);
    if (!(pid > 0) || isAlive(pid)) continue;
    // Ignores an error, because the initdb of a killed process may still write into the directory for a moment. A later
    // call removes the remaining files.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
