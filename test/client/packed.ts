import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { packPackage as buildAndPack, type PackedPackage, tarballName } from '../../scripts/release/pack-package.ts';
import { repository } from '../../scripts/release/repository.ts';

const run = promisify(execFile);

export { repository };

/**
 * The timeout of tests that compile or run npm. Such a test takes some seconds, and up to a minute on a busy machine.
 */
export const compilingMs = 180_000;

const packed = new Map<string, Promise<PackedPackage>>();

/** Packs the package of a folder as npm would publish it. All tests share the result. */
export function packPackage(folder: string): Promise<PackedPackage> {
  const result = packed.get(folder) ?? pack(folder);
  packed.set(folder, result);
  return result;
}

/**
 * Builds and packs a package. During a release, PACKED_PACKAGES is the directory with the packages that the release has
 * packed, and the tests check exactly these.
 */
async function pack(folder: string): Promise<PackedPackage> {
  const directory = process.env.PACKED_PACKAGES;
  if (directory) return findPacked(directory, folder);
  const stage = join(inject('packedPackages'), folder.replaceAll('/', '-'));
  const result = join(stage, 'result.json');
  // Only one process can create this directory. That process packs the package, and the others wait for the result.
  while (!(await isMade(stage))) {
    const found = await readFile(result, 'utf8').catch(() => undefined);
    if (found) return JSON.parse(found);
    await delay(100);
  }
  try {
    const packed = await buildAndPack(repository, folder, stage);
    await writeFile(`${result}.new`, JSON.stringify(packed));
    await rename(`${result}.new`, result);
    return packed;
  } catch (error) {
    await rm(stage, { recursive: true });
    throw error;
  }
}

/** Creates a directory. Returns false if the directory exists already. */
async function isMade(directory: string): Promise<boolean> {
  return mkdir(directory).then(
    () => true,
    error => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
}

async function findPacked(directory: string, folder: string): Promise<PackedPackage> {
  const tarball = join(directory, tarballName(repository, folder));
  const { stdout } = await run('tar', ['-tzf', tarball]);
  return {
    tarball,
    files: stdout
      .trim()
      .split('\n')
      .map(path => path.replace(/^package\//, '')),
  };
}

export interface FreshProject {
  directory: string;
  write(name: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

/** Creates a project outside the repository, with the packages of these folders in it. */
export async function createProject(...folders: string[]): Promise<FreshProject> {
  const project = await createEmptyProject();
  for (const folder of folders) {
    const { name } = JSON.parse(await readFile(join(repository, folder, 'package.json'), 'utf8'));
    const installed = join(project.directory, 'node_modules', name);
    await mkdir(installed, { recursive: true });
    const { tarball } = await packPackage(folder);
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  }
  return project;
}

export async function createEmptyProject(): Promise<FreshProject> {
  const directory = await mkdtemp(join(tmpdir(), 'idea-board-project-'));
  const write = (name: string, text: string) => writeFile(join(directory, name), text);
  await write('package.json', JSON.stringify({ name: 'fresh', private: true, type: 'module' }));
  return { directory, write, remove: () => rm(directory, { recursive: true }) };
}

/** Links packages of the repository into a project instead of installing them from a registry. */
export async function installFromRepository({ directory }: FreshProject, ...packages: string[]) {
  for (const name of packages) {
    const path = join(directory, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(join(repository, 'node_modules', name), path);
  }
}
