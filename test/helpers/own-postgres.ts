import { execFile } from 'node:child_process';
import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

/** A PostgreSQL that may be harmed: nobody else uses it, and it keeps every commit as one in production does. */
export interface OwnPostgres {
  /** Its application's database; the same after every restart. */
  url: string;
  /** fast: as an operator stops it. immediate: it ends at once, and recovers when it starts. kill: kill -9. */
  stop(how?: 'fast' | 'immediate' | 'kill'): Promise<void>;
  start(options?: { isStandby?: boolean }): Promise<void>;
  /** Sets or resets a setting for every session, as an operator does in the configuration. */
  configure(setting: string, value?: string): Promise<void>;
  /** Sends a signal to PostgreSQL's first process. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Stands still, with every connection open and nobody answering, until it is resumed. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  close(): Promise<void>;
}

/** What a killed PostgreSQL's processes take to notice that they are orphans: until then no other one starts. */
const orphansLimitMs = 15_000;

export async function startOwnPostgres(settings: Record<string, string> = {}, dataDir?: string): Promise<OwnPostgres> {
  const directory = dataDir ?? (await makeScratchDirectory());
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
    // Every start has a socket directory of its own; the name that clients know leads to the latest.
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
        // It ended meanwhile, killed by somebody else.
      }
    }
  }

  // The first start makes the cluster that a mark could be put into.
  running = await startEmbeddedPostgres({ dataDir: directory, settings });
  await symlink(running.connection.host, socket);
  const url = new URL(running.url());
  url.hostname = encodeURIComponent(socket);
  return {
    url: url.href,
    start,
    stop,
    async configure(setting, value) {
      // `alter system` would do the same, but only for a superuser.
      await writeFile(join(cluster, 'postgresql.auto.conf'), value === undefined ? '' : `${setting} = '${value}'\n`);
      process.kill(await postmaster(), 'SIGHUP');
    },
    signal: async signal => void process.kill(await postmaster(), signal),
    async pause() {
      const first = await postmaster();
      // First of all, so that it makes no child that is missed.
      process.kill(first, 'SIGSTOP');
      paused = [first, ...(await childrenOf(first))];
      for (const pid of paused.slice(1)) process.kill(pid, 'SIGSTOP');
    },
    resume,
    async close() {
      await resume();
      await stop();
      if (!dataDir) await rm(directory, { recursive: true, force: true });
    },
  };
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const processes = stdout.split('\n').map(line => line.trim().split(/\s+/).map(Number));
  return processes.filter(([, ppid]) => ppid === parent).map(([pid]) => pid as number);
}
