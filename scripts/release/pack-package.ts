import { execFile } from 'node:child_process';
import type { Dirent } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readManifest } from './repository.ts';

const run = promisify(execFile);

export interface PackedPackage {
  tarball: string;
  /** The paths of the files in the tarball. */
  files: string[];
}

/**
 * Builds a package in a temporary directory of its own, so that parallel builds do not disturb each other. Packs it as
 * npm would publish it, and writes the tarball into a directory. The same source code always results in the same
 * tarball.
 */
export async function packPackage(root: string, folder: string, into: string): Promise<PackedPackage> {
  const stage = await mkdtemp(join(tmpdir(), 'idea-board-pack-'));
  try {
    const isDocument = ({ name }: Dirent) => /\.(json|md)$|^LICENSE$/.test(name) && !name.startsWith('tsconfig');
    for (const file of (await readdir(join(root, folder), { withFileTypes: true })).filter(isDocument)) {
      await copyFile(join(file.parentPath, file.name), join(stage, file.name));
    }
    await run(process.execPath, [join(root, 'scripts/build-package.ts'), folder, join(stage, 'dist')]);
    const args = ['pack', stage, '--json', '--ignore-scripts', '--pack-destination', into];
    const { stdout } = await run('npm', args, { cwd: stage, maxBuffer: 64 * 1024 * 1024 });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    return { tarball: join(into, tarballName(root, folder)), files: files.map(({ path }) => path) };
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** The name that npm gives to the tarball of a package. */
export function tarballName(root: string, folder: string): string {
  const { name, version } = readManifest(root, folder);
  return `${name.slice(1).replace('/', '-')}-${version}.tgz`;
}
