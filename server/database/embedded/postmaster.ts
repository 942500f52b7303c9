import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, constants, lstat, mkdtemp, open, readFile, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readIfExists } from '../read-if-exists.ts';
import { isAlive } from './build-directory.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { type Cluster, canEnter } from './postgres-cluster.ts';
import { EmbeddedPostgresError, isLockConflict, pickReason, postgresEnvironment } from './postgres-program.ts';

/** A running PostgreSQL as its `postmaster.pid` describes it. */
export interface Postmaster {
  pid: number;
  port: number;
  socketDir: string;
  /**
   * The last line of `postmaster.pid`, which pg_ctl also reads. The server connects only if this line is `ready`,
   * because PostgreSQL logs each refused connection.
   */
  status: 'starting' | 'ready' | 'stopping' | undefined;
  /** The process object of PostgreSQL. Undefined if another process started PostgreSQL. */
  child?: ChildProcess;
}

const pollIntervalMs = 20;

/**
 * The maximum time for a start of PostgreSQL. After a crash, PostgreSQL replays up to a gigabyte of write-ahead log
 * (max_wal_size), which can take a minute on a slow disk.
 */
const startLimitMs = 60_000;

const fastShutdownLimitMs = 8_000;

/** The maximum time for an immediate shutdown. After five seconds PostgreSQL kills its remaining child processes. */
const immediateShutdownLimitMs = 10_000;

/**
 * Before each start of PostgreSQL, the server renames postgres.log to postgres.log.old if the log is larger than this
 * size. The log contains warnings, errors, and messages about starts and stops.
 */
const logLimitBytes = 10_000_000;

const socketDirPrefix = 'idea-board-';

/**
 * The maximum length of the path of the temporary directory that may contain the socket's directory. The path of a
 * socket may have at most 103 bytes on macOS and 107 on Linux.
 */
const socketParentLimitBytes = 103 - '/idea-board-XXXXXX/.s.PGSQL.5432'.length;

const port = 5432; // The port can be constant, because every cluster has its own socket directory.

/**
 * Waits until the PostgreSQL of a database cluster accepts connections. If no PostgreSQL is running, calls `launch`.
 * Without `launch`, returns undefined in this case. If PostgreSQL is stopping, first waits for its exit.
 */
export async function awaitPostmaster(
  cluster: Cluster,
  launch?: () => Promise<Launched>,
): Promise<Postmaster | undefined> {
  const deadline = Date.now() + startLimitMs;
  let launched: Launched | undefined;
  while (Date.now() < deadline) {
    const postmaster = await findPostmaster(cluster);
    if (postmaster?.status === 'ready') {
      if (launched?.child.pid === postmaster.pid) return { ...postmaster, child: launched.child };
      if (launched !== undefined) await removeSocketDir(launched.socketDir);
      return postmaster;
    }
    if (launched !== undefined && hasExited(launched.child)) {
      await removeSocketDir(launched.socketDir);
      // Tries again after a lock conflict: another process has launched PostgreSQL, or PostgreSQL in single-user mode
      // has just ended.
      const reason = postmaster === undefined ? await explainExit(cluster, launched) : undefined;
      if (reason !== undefined && !isLockConflict(reason.message)) throw reason;
      launched = undefined;
    } else if (launched === undefined && postmaster === undefined) {
      if (launch === undefined) return undefined;
      launched = await launch();
    }
    await sleep(pollIntervalMs);
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL in ${cluster.dataDir} is not ready after ${startLimitMs / 1000} s but still starting: see ${cluster.logFile}`,
  );
}

/** Finds the running PostgreSQL of a database cluster, even if another process started it. */
async function findPostmaster(cluster: Cluster): Promise<Postmaster | undefined> {
  const recorded = await readPostmasterFile(cluster);
  return recorded !== undefined && (await isPostmaster(recorded.pid, cluster)) ? recorded : undefined;
}

async function readPostmasterFile(cluster: Cluster): Promise<Postmaster | undefined> {
  const text = (await readIfExists(join(cluster.directory, 'postmaster.pid'))) ?? '';
  // The lines of postmaster.pid are: pid, data directory, start time, port, socket directory, listen address, shared
  // memory, status.
  const lines = text.split('\n').map(line => line.trim());
  // In single-user mode, the pid is negative and PostgreSQL never becomes ready. So callers wait until the process
  // ends.
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), socketDir: lines[4] ?? '', status: lines[7] as Postmaster['status'] };
}

/**
 * Whether the process is the cluster's PostgreSQL. After a crash, another process may have the id in `postmaster.pid`.
 * On Linux, this function checks the working directory, because PostgreSQL's working directory is its data directory.
 */
async function isPostmaster(pid: number, cluster: Cluster): Promise<boolean> {
  if (process.platform === 'linux') {
    // A zombie process has no working directory, so it counts as ended.
    const cwd = await stat(`/proc/${pid}/cwd`).catch(() => undefined);
    return cwd !== undefined && cwd.ino === cluster.inode.ino && cwd.dev === cluster.inode.dev;
  }
  const command = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => undefined);
  return command?.stdout.includes(cluster.directory) ?? false;
}

export interface Launched {
  child: ChildProcess;
  socketDir: string;
  /** The size of the log file before this start of PostgreSQL. */
  logOffset: number;
}

/** Starts PostgreSQL in its own process group, because Ctrl-C must not stop PostgreSQL before the server. */
export async function launchPostmaster(
  cluster: Cluster,
  binaries: PostgresBinaries,
  { isDurable, settings }: { isDurable: boolean; settings: Record<string, string> },
): Promise<Launched> {
  await removeLeftovers(cluster);
  const log = await openLog(cluster);
  const socketDir = await makeSocketDir(cluster);
  const allSettings = {
    listen_addresses: '',
    unix_socket_directories: `"${socketDir}"`,
    unix_socket_permissions: '0700',
    port: String(port),
    max_connections: '100',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
    ...(!isDurable && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...settings,
  };
  try {
    const args = Object.entries(allSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(binaries.postgres, ['-D', cluster.directory, ...args], {
      ...cluster.runAs,
      cwd: '/', // Sets a working directory that PostgreSQL's system user can enter.
      env: postgresEnvironment,
      stdio: ['ignore', log.handle.fd, log.handle.fd],
      detached: true,
    });
    await once(child, 'spawn');
    child.unref();
    return { child, socketDir, logOffset: log.offset };
  } catch (error) {
    await removeSocketDir(socketDir);
    throw new EmbeddedPostgresError(`cannot run PostgreSQL: ${(error as Error).message}`, { cause: error });
  } finally {
    await log.handle.close();
  }
}

async function openLog({ logFile, runAs }: Cluster) {
  const size = await lstat(logFile).then(
    file => file.size,
    () => 0,
  );
  if (size > logLimitBytes) await rename(logFile, `${logFile}.old`);
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  const handle = await open(logFile, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  // Makes the log writable for the owner of the database cluster, who can start PostgreSQL later without root.
  if (runAs !== undefined) await handle.chown(runAs.uid, runAs.gid);
  return { handle, offset: (await handle.stat()).size };
}

/** Creates the socket's directory. Only PostgreSQL's system user can enter it, and clients also need a password. */
async function makeSocketDir({ runAs }: Cluster) {
  const parent = tmpdir();
  const isUsable =
    Buffer.byteLength(parent) <= socketParentLimitBytes && (runAs === undefined || (await canEnter(runAs, parent)));
  const socketDir = await mkdtemp(join(isUsable ? parent : '/tmp', socketDirPrefix)); // creates the directory with mode 0700
  if (runAs !== undefined) await chown(socketDir, runAs.uid, runAs.gid);
  return socketDir;
}

async function removeSocketDir(socketDir: string) {
  // Checks the name, because the path may come from a file that PostgreSQL's system user can write. Removes only
  // directories with our prefix.
  if (!basename(socketDir).startsWith(socketDirPrefix)) return;
  for (const name of [`.s.PGSQL.${port}`, `.s.PGSQL.${port}.lock`]) await unlink(join(socketDir, name)).catch(() => {});
  await rmdir(socketDir).catch(() => {});
}

/** Removes the files that PostgreSQL left behind when it was killed or its machine failed. */
export async function removeLeftovers(cluster: Cluster) {
  const recorded = await readPostmasterFile(cluster);
  if (recorded === undefined || (await isPostmaster(recorded.pid, cluster))) return;
  await removeSocketDir(recorded.socketDir);
  // PostgreSQL itself removes a postmaster.pid with the id of a dead process. But if another process has this id now,
  // this code must remove the file.
  if (isAlive(recorded.pid)) await unlink(join(cluster.directory, 'postmaster.pid'));
}

async function explainExit(cluster: Cluster, { child, logOffset }: Launched) {
  const log = await readFile(cluster.logFile);
  const reason = pickReason(log.subarray(logOffset).toString());
  return new EmbeddedPostgresError(
    `PostgreSQL in ${cluster.dataDir} did not start: ${reason ?? `exit ${child.exitCode ?? child.signalCode}`}`,
  );
}

/** Stops PostgreSQL and waits for its exit. PostgreSQL ends all sessions and rolls back their transactions. */
export async function stopPostmaster(postmaster: Postmaster, cluster: Cluster) {
  const isGone = async () =>
    postmaster.child === undefined ? !(await isPostmaster(postmaster.pid, cluster)) : hasExited(postmaster.child);
  await signalUntil(isGone, postmaster.pid, 'SIGINT', fastShutdownLimitMs);
  await signalUntil(isGone, postmaster.pid, 'SIGQUIT', immediateShutdownLimitMs);
  if (!(await isGone())) {
    throw new EmbeddedPostgresError(`PostgreSQL (process ${postmaster.pid}) does not stop`);
  }
  await removeSocketDir(postmaster.socketDir);
}

async function signalUntil(isGone: () => Promise<boolean>, pid: number, signal: NodeJS.Signals, limitMs: number) {
  if (await isGone()) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  const deadline = Date.now() + limitMs;
  while (Date.now() < deadline && !(await isGone())) await sleep(pollIntervalMs);
}

function hasExited(child: ChildProcess) {
  return child.exitCode !== null || child.signalCode !== null;
}
