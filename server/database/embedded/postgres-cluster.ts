import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, chown, lchown, lstat, mkdir, readdir, realpath, rm, stat, symlink } from 'node:fs/promises';
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
  /** What the operator named: messages speak of it. */
  dataDir: string;
  /** Where PostgreSQL's files are, free of symbolic links. */
  directory: string;
  /** The directory's identity, which outlives its being moved or deleted while PostgreSQL runs in it. */
  inode: { dev: number; ino: number };
  /** Beside the cluster rather than in it, where only PostgreSQL's user could read it. */
  logFile: string;
  /** Who runs PostgreSQL, when that is not ourselves. */
  runAs: UserIds | undefined;
}

const run = promisify(execFile);

/** Finds the cluster of a data directory. Returns undefined if there is none yet. */
export async function findCluster(dataDir: string): Promise<Cluster | undefined> {
  const path = join(dataDir, 'postgres');
  const directory = await realpath(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    const isDangling = await lstat(path).then(Boolean, () => false);
    if (!isDangling) return undefined;
    // A new cluster in its place would hide that data are lost, or on a disk that is not mounted.
    throw new EmbeddedPostgresError('failed', `${path} is a link to a database that is gone: remove it to begin anew`);
  });
  if (directory === undefined) return undefined;

  const { uid, gid, dev, ino } = await stat(directory);
  if (!isRoot() && uid !== process.getuid?.()) {
    throw new EmbeddedPostgresError(
      'failed',
      `${path} belongs to user ${uid}: run as that user or as root, or remove it`,
    );
  }
  const isCluster = await access(join(directory, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
  if (!isCluster) return undefined;

  const cluster = { dataDir, directory, inode: { dev, ino }, logFile: join(dataDir, 'postgres.log') };
  if (!isRoot()) return { ...cluster, runAs: undefined };
  if (uid !== 0) return { ...cluster, runAs: { uid, gid } };
  // Root's copy of a cluster, such as a restored backup.
  await giveTree(directory, unprivileged);
  return { ...cluster, runAs: unprivileged };
}

export interface NewCluster {
  isDurable: boolean;
  /** The password of the application role. */
  password: string;
}

/**
 * Makes the cluster of a data directory that exists: below it where PostgreSQL's user can get there, else in the shared directory
 * with a link to it, because the modes of what is above are not ours to change.
 */
export async function createCluster(
  dataDir: string,
  binaries: PostgresBinaries,
  { isDurable, password }: NewCluster,
): Promise<Cluster> {
  const path = join(dataDir, 'postgres');
  const initialize = async (directory: string) => {
    await initializeCluster(directory, binaries, isDurable);
    await secureCluster({ directory, runAs: isRoot() ? unprivileged : undefined }, binaries, password);
  };
  const occupants = await readdir(path).catch(() => []);
  if (occupants.length > 0) {
    // Another process has just made it; or it is no cluster at all, which is reported below.
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
    throw new EmbeddedPostgresError('failed', `${path} exists but is not a PostgreSQL database: remove it`);
  }
  return cluster;
}

/** Node's own recursive mkdir never returns where a directory exists but none can be made in it, as in /proc. */
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
  // Lower and upper case come from PostgreSQL's own Unicode tables, the same everywhere. But full-text search and
  // pg_trgm ask the C library what a letter is: with `C` they would find no “quoted” word and no trigram of `É`.
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
        cwd: '/', // a directory that every user may enter: PostgreSQL's programs fail in any other
        env: postgresEnvironment,
      });
      return;
    } catch (error) {
      const { message, stderr = '' } = error as Error & { stderr?: string };
      if (stderr.includes('invalid locale name') && index < characterTypes.length - 1) continue;
      throw new EmbeddedPostgresError('failed', `initdb failed: ${pickReason(stderr) ?? message}`, { cause: error });
    }
  }
}

/** Asks the kernel instead of reading modes, which tell nothing of access control lists or mount options. */
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
  // The top comes last: until all is done, the next start finds work to do.
  await lchown(directory, uid, gid);
}
