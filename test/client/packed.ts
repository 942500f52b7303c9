import { execFile } from 'node:child_process';
import { type Dirent, rmSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const repository = fileURLToPath(new URL('../../', import.meta.url));

/**
 * The timeout of tests that compile or run npm. Such a test takes some seconds, and up to a minute on a busy machine.
 */
export const compilingMs = 180_000;

export interface PackedPackage {
  tarball: string;
  /** The paths of the files in the tarball. */
  files: string[];
}

const packed = new Map<string, Promise<PackedPackage>>();

/** Packs the package of a folder as npm would publish it. Tests in the same process share the result. */
export function packPackage(folder: string): Promise<PackedPackage> {
  const result = packed.get(folder) ?? buildAndPack(folder);
  packed.set(folder, result);
  return result;
}

/** Builds and packs a package in a temporary directory, so that other processes cannot interfere. */
async function buildAndPack(folder: string): Promise<PackedPackage> {
  const stage = await mkdtemp(join(tmpdir(), 'idea-board-pack-'));
  process.on('exit', () => rmSync(stage, { recursive: true, force: true }));
  const isDocument = ({ name }: Dirent) => /\.(json|md)$|^LICENSE$/.test(name) && !name.startsWith('tsconfig');
  for (const file of (await readdir(join(repository, folder), { withFileTypes: true })).filter(isDocument)) {
    await copyFile(join(file.parentPath, file.name), join(stage, file.name));
  }
  await run(process.execPath, [join(repository, 'scripts/build-package.ts'), folder, join(stage, 'dist')]);
  return pack(stage);
}

/** Packs the package in a directory, and writes the tarball into this directory. */
async function pack(directory: string): Promise<PackedPackage> {
  const args = ['pack', directory, '--json', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await run('npm', args, { cwd: directory, maxBuffer: 64 * 1024 * 1024 });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { tarball: join(directory, filename), files: files.map(({ path }) => path) };
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
