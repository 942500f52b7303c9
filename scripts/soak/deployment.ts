import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Balancer, startBalancer } from '../../test/helpers/balancer.ts';
import { type OwnPostgres, startOwnPostgres } from '../../test/helpers/own-postgres.ts';
import { type ServerProcess, startProcess } from '../../test/helpers/server-process.ts';
import { watchMemory } from './memory.ts';

/** The deployment that the soak test runs, as in the README: a load balancer, two servers and a separate worker. */
export interface Deployment {
  postgres: OwnPostgres;
  balancer: Balancer;
  memory: ReturnType<typeof watchMemory>;
  /** Runs a command of Idea-Board's command line and returns its JSON output. */
  cli<Result>(...args: string[]): Promise<Result>;
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  servers(): ServerProcess[];
  /** Stops a process gracefully and starts it again. Returns the exit status of the stopped process. */
  restart(name: ProcessName): Promise<number | NodeJS.Signals>;
  /** Kills a process with SIGKILL and starts it again. */
  kill(name: ProcessName): Promise<void>;
  /** Stops all processes gracefully and returns their exit statuses. */
  stop(): Promise<Record<string, number | NodeJS.Signals>>;
  close(): Promise<void>;
}

const processNames = ['server 1', 'server 2', 'worker'] as const;
export type ProcessName = (typeof processNames)[number];

const probeIntervalMs = 500;

export async function deploy(sampleIntervalMs: number, smtpUrl: string): Promise<Deployment> {
  const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-soak-'));
  // If this process runs as root, PostgreSQL runs as another system user, who needs access to the directory.
  await chmod(dataDir, 0o711);
  const postgres = await startOwnPostgres({}, dataDir);
  const pool = new pg.Pool({ connectionString: postgres.url });
  // A restart of PostgreSQL ends idle connections. Without a listener the error would end this process.
  pool.on('error', () => {});
  const balancer = await startBalancer(probeIntervalMs);
  const memory = watchMemory(sampleIntervalMs);
  const environment = {
    DATABASE_URL: postgres.url,
    APP_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'error',
    SHUTDOWN_DELAY_MS: '3000',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    SMTP_URL: smtpUrl,
    // The load of the test exceeds normal rate limits.
    RATE_LIMIT_READ: '1000000',
    RATE_LIMIT_WRITE: '1000000',
    RATE_LIMIT_IP: '1000000',
  };
  const running = new Map<ProcessName, ServerProcess>();
  const counts = new Map<ProcessName, number>();

  async function start(name: ProcessName) {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    const one =
      name === 'worker'
        ? await startProcess('worker', environment)
        : await startProcess('start', { ...environment, WORKER: '0' });
    running.set(name, one);
    memory.follow(count === 1 ? name : `${name}, after its restart`, one.pid);
    if (name !== 'worker') balancer.add(one.baseUrl);
  }

  async function end(name: ProcessName) {
    const one = running.get(name) as ServerProcess;
    running.delete(name);
    one.signal('SIGTERM');
    const status = await one.ended;
    memory.leave(one.pid);
    if (name !== 'worker') balancer.remove(one.baseUrl);
    return status;
  }

  const close = async () => {
    memory.close();
    await Promise.all([...running.values()].map(one => one.kill()));
    await balancer.close();
    await pool.end();
    await postgres.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    for (const name of processNames) await start(name);
    await balancer.waitForReady(2);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    postgres,
    balancer,
    memory,
    async cli(...args) {
      const file = new URL('../../server/cli/main.ts', import.meta.url).pathname;
      const env = { PATH: process.env.PATH, ...environment };
      const { stdout } = await promisify(execFile)(process.execPath, [file, ...args, '--json'], { env });
      return JSON.parse(stdout);
    },
    query: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    servers: () => [...running].filter(([name]) => name !== 'worker').map(([, one]) => one),
    async restart(name) {
      const status = await end(name);
      await start(name);
      return status;
    },
    async kill(name) {
      const one = running.get(name) as ServerProcess;
      running.delete(name);
      await one.kill();
      memory.leave(one.pid);
      if (name !== 'worker') balancer.remove(one.baseUrl);
      await start(name);
    },
    async stop() {
      const ended: Record<string, number | NodeJS.Signals> = {};
      for (const name of processNames) ended[name] = await end(name);
      return ended;
    },
    close,
  };
}
