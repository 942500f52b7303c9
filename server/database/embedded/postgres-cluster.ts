import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, lchown, lstat, mkdir, readdir, realpath, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildDirectory } from './build-directory.ts';
import { secureCluster } from './cluster-access.ts';
import { isRoot, makeSharedDirectory, type PostgresBinaries, sharedDirectory } from './postgres-binaries.ts';
import {
  EmbeddedPostgresError,
  pickReason,
  postgresEnvironment,
  superuserName,
  type UserIds,
  unprivileged,
} from './postgres-program.ts';

export interface Cluster {
  /** The data directory as the operator wrote it, for messages. */
  dataDir: string;
  /** The directory of PostgreSQL's files, with symbolic links resolved. */
  directory: string;
  /** Identifies the directory, even if the directory is moved or deleted while PostgreSQL runs. */
  inode: { dev: number; ino: number };
  /** The log file. It is outside `directory`, because only PostgreSQL's system user can read `directory`. */
  logFile: string;
  /** The system user that runs PostgreSQL. Undefined if it is the current user. */
  runAs: UserIds | undefined;
}

const run = promisify(execFile);

/** Finds the database cluster of a data directory. Returns undefined if no cluster exists yet. */
export async function findCluster(dataDir: string): Promise<Cluster | undefined> {
  const path = join(dataDir, 'postgres');
  const directory = await realpath(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    const isDangling = await lstat(path).then(Boolean, () => false);
    if (!isDangling) return undefined;
    // Refuses a symbolic link without a target. The target may be on a disk that is not mounted, and a new database
    // would hide this.
    throw new EmbeddedPostgresError(`${path} is a link to a missing database: remove it to start with a new one`);
  });
  if (directory === undefined) return undefined;

  const { uid, gid, dev, ino } = await stat(directory);
  if (!isRoot() && uid !== process.getuid?.()) {
    throw new EmbeddedPostgresError(`${path} belongs to user ${uid}: run as that user or as root, or remove it`);
  }
  if (!existsSync(join(directory, 'PG_VERSION'))) return undefined;

  const cluster = { dataDir, directory, inode: { dev, ino }, logFile: join(dataDir, 'postgres.log') };
  if (!isRoot()) return { ...cluster, runAs: undefined };
  if (uid !== 0) return { ...cluster, runAs: { uid, gid } };
  // The files belong to root, because root may have copied them here, for example to restore a backup. PostgreSQL
  // refuses to run as root, so its unprivileged system user gets the files.
  await giveTree(directory, unprivileged);
  return { ...cluster, runAs: unprivileged };
}

/**
 * Creates a database cluster in an existing data directory. If PostgreSQL's system user cannot enter that directory,
 * the cluster is in the shared directory, and a link in the data directory leads to it. The modes of parent directories
 * do not change.
 */
export async function createCluster(
  dataDir: string,
  binaries: PostgresBinaries,
  { isDurable, password }: { isDurable: boolean; password: string },
): Promise<Cluster> {
  const path = join(dataDir, 'postgres');
  const initialize = async (directory: string) => {
    await initializeCluster(directory, binaries, isDurable);
    await secureCluster({ directory, runAs: isRoot() ? unprivileged : undefined }, binaries, password);
  };
  const occupants = await readdir(path).catch(() => []);
  if (occupants.length > 0) {
    // Another process may have just created a database cluster in this directory. If the directory contains other
    // files, the code below throws an error.
  } else if (!isRoot() || (await canEnter(unprivileged, dataDir))) {
    await buildDirectory(path, initialize);
  } else {
    await makeSharedDirectory();
    const elsewhere = join(sharedDirectory, randomBytes(6).toString('hex'));
    await buildDirectory(elsewhere, initialize);
    await symlink(elsewhere, path).catch(async (error: NodeJS.ErrnoException) => {
      await rm(elsewhere, { recursive: true });
      if (error.code !== 'EEXIST') throw error;
    });
  }
  const cluster = await findCluster(dataDir);
  if (cluster === undefined) {
    throw new EmbeddedPostgresError(`${path} exists but is not a PostgreSQL database: remove it`);
  }
  return cluster;
}

/**
 * Creates a directory and its parents. Does not use Node's recursive mkdir, which never returns in some existing
 * directories, such as /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
  const make = () =>
    mkdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  await make().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectory(dirname(path));
    await make();
  });
}

async function initializeCluster(directory: string, binaries: PostgresBinaries, isDurable: boolean) {
  if (isRoot()) await chown(directory, unprivileged.uid, unprivileged.gid);
  // PostgreSQL's built-in locale is the same on every machine. Full-text search and pg_trgm, however, use the C library
  // to recognize letters. With the C library's locale `C`, they would miss “quoted” words and trigrams of `É`.
  const characterTypes = ['C.UTF-8', 'en_US.UTF-8', 'C'];
  for (const [index, characterType] of characterTypes.entries()) {
    const args = [
      ['--pgdata', directory],
      ['--username', superuserName, '--auth', 'reject'],
      ['--encoding', 'UTF8', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
      ['--locale', 'C', '--lc-ctype', characterType, '--no-instructions'],
      isDurable ? [] : ['--no-sync'],
    ].flat();
    try {
      await run(binaries.initdb, args, {
        ...(isRoot() && unprivileged),
        cwd: '/', // Sets a working directory that the system user of initdb can enter.
        env: postgresEnvironment,
      });
      return;
    } catch (error) {
      const { message, stderr = '' } = error as Error & { stderr?: string };
      if (stderr.includes('invalid locale name') && index < characterTypes.length - 1) continue;
      throw new EmbeddedPostgresError(`initdb failed: ${pickReason(stderr) ?? message}`, { cause: error });
    }
  }
}

/**
 * Whether a system user can enter a directory. Runs a command as this user, because the mode of a directory does not
 * show access control lists and mount options.
 */
export async function canEnter(user: UserIds, directory: string) {
  return run('/bin/sh', ['-c', 'test -x "$1"', 'sh', directory], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

async function giveTree(directory: string, { uid, gid }: UserIds) {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    await lchown(join(entry.parentPath, entry.name), uid, gid);
  }
  // Changes the owner of the directory itself last. If the process is interrupted earlier, the next start changes the
  // owner of all files again.
  await lchown(directory, uid, gid);
}
