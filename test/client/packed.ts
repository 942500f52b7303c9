import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const repository = fileURLToPath(new URL('../../', import.meta.url));

/** The timeout of tests that compile or run npm. Such a test takes seconds, or up to a minute on a busy machine. */
export const compilingMs = 180_000;

export interface PackedClient {
  tarball: string;
  /** The paths of the files in the tarball. */
  files: string[];
}

let packed: Promise<PackedClient> | undefined;

/** Packs the client package as npm would publish it. Tests in the same process share the result. */
export function packClient(): Promise<PackedClient> {
  packed ??= buildAndPack();
  return packed;
}

/** Builds and packs the client in a temporary directory, so that other processes cannot interfere. */
async function buildAndPack(): Promise<PackedClient> {
  const stage = await mkdtemp(join(tmpdir(), 'idea-board-pack-'));
  process.on('exit', () => rmSync(stage, { recursive: true, force: true }));
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE']) {
    await copyFile(join(repository, 'client', file), join(stage, file));
  }
  await run(process.execPath, [join(repository, 'scripts/client-build.ts'), join(stage, 'dist')]);
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: stage });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  return { tarball: join(stage, filename), files: files.map(({ path }) => path) };
}

export interface FreshProject {
  directory: string;
  write(name: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

/** Creates a project outside the repository and installs the client package in it with npm and without a registry. */
export async function createFreshProject(tarball: string): Promise<FreshProject> {
  const project = await createEmptyProject();
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project.directory });
  return project;
}

/** Creates a project like createFreshProject, but unpacks the client package with tar. This saves a second. */
export async function createUnpackedProject(tarball: string): Promise<FreshProject> {
  const project = await createEmptyProject();
  const installed = join(project.directory, 'node_modules/@idea-board/client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  return project;
}

async function createEmptyProject(): Promise<FreshProject> {
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
