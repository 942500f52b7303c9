import { execFile } from 'node:child_process';
import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

/** A separate PostgreSQL that a test may stop or kill. It flushes each commit to its files, as in production. */
export interface OwnPostgres {
  /** The URL of the application's database. The URL stays the same after a restart. */
  url: string;
  /** The path of PostgreSQL's log. */
  logFile: string;
  /** Stops PostgreSQL. 'fast' is a regular stop, 'immediate' skips the checkpoint, and 'kill' sends SIGKILL. */
  stop(how?: 'fast' | 'immediate' | 'kill'): Promise<void>;
  start(options?: { isStandby?: boolean }): Promise<void>;
  /**
   * Writes a configuration file that contains only these settings. Then makes PostgreSQL reload the file. Some settings
   * have effect only after a restart.
   */
  configure(settings: Record<string, string>): Promise<void>;
  /** Sends a signal to the postmaster, the parent of all PostgreSQL processes. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Pauses all processes of PostgreSQL until `resume`. Connections stay open but get no response. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The time limit in milliseconds for the child processes of a killed PostgreSQL to exit. PostgreSQL cannot start again
 * while these processes run.
 */
const orphansLimitMs = 15_000;

/** Starts a separate PostgreSQL. By default, its files are in memory if enough memory is free. */
export async function startOwnPostgres(
  settings: Record<string, string> = {},
  { isOnDisk = false } = {},
): Promise<OwnPostgres> {
  const directory = await makeScratchDirectory(!isOnDisk);
  const cluster = join(directory, 'postgres');
  const socket = join(directory, 'socket');
  let running: EmbeddedPostgres;
  let paused: number[] = [];

  const postmaster = async () => Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);

  async function start({ isStandby = false } = {}) {
    const mark = join(cluster, 'standby.signal');
    if (isStandby) await writeFile(mark, '');
    else await rm(mark, { force: true });
    const deadline = performance.now() + orphansLimitMs;
    for (;;) {
      try {
        running = await startEmbeddedPostgres({ dataDir: directory, settings });
        break;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await delay(50);
      }
    }
    // Each start of PostgreSQL creates a new directory for its socket. The URL contains a symbolic link to the current
    // directory.
    await symlink(running.connection.host, `${socket}.new`);
    await rename(`${socket}.new`, socket);
  }

  async function stop(how: 'fast' | 'immediate' | 'kill' = 'fast') {
    if (how !== 'fast') process.kill(await postmaster(), how === 'kill' ? 'SIGKILL' : 'SIGQUIT');
    await running.stop();
  }

  async function resume() {
    for (const pid of paused.splice(0)) {
      try {
        process.kill(pid, 'SIGCONT');
      } catch {
        // Ignores the error, because the paused process may no longer exist.
      }
    }
  }

  // The first start creates the data directory of PostgreSQL.
  running = await startEmbeddedPostgres({ dataDir: directory, settings });
  await symlink(running.connection.host, socket);
  const url = new URL(running.url());
  url.hostname = encodeURIComponent(socket);
  return {
    url: url.href,
    logFile: join(directory, 'postgres.log'),
    start,
    stop,
    async configure(settings) {
      const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
      // Writes the file directly, because the command `alter system` would need a superuser.
      await writeFile(join(cluster, 'postgresql.auto.conf'), lines.join(''));
      process.kill(await postmaster(), 'SIGHUP');
    },
    signal: async signal => void process.kill(await postmaster(), signal),
    async pause() {
      const first = await postmaster();
      // Pauses the parent process of PostgreSQL first, so that it starts no new child process.
      process.kill(first, 'SIGSTOP');
      paused = [first, ...(await childrenOf(first))];
      for (const pid of paused.slice(1)) process.kill(pid, 'SIGSTOP');
    },
    resume,
    async close() {
      await resume();
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const processes = stdout.split('\n').map(line => line.trim().split(/\s+/).map(Number));
  return processes.filter(([, ppid]) => ppid === parent).map(([pid]) => pid as number);
}
