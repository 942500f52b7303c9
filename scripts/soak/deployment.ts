import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import pg from 'pg';
import { startBalancer } from '../../test/helpers/balancer.ts';
import { startOwnPostgres } from '../../test/helpers/own-postgres.ts';
import { type ServerProcess, startProcess } from '../../test/helpers/server-process.ts';
import { watchMemory } from './memory.ts';

export type Deployment = Awaited<ReturnType<typeof deploy>>;

const processNames = ['server 1', 'server 2', 'worker'] as const;
export type ProcessName = (typeof processNames)[number];

const probeIntervalMs = 500;

/** Starts a deployment as in the README: a load balancer, two servers and a separate worker. */
export async function deploy(sampleIntervalMs: number, smtpUrl: string) {
  const postgres = await startOwnPostgres({}, { isOnDisk: true });
  const pool = new pg.Pool({ connectionString: postgres.url });
  // Ignores errors of idle connections, because these connections break when PostgreSQL restarts. Without a listener,
  // such an error would end this process.
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
    // Raises the rate limits, because the load of the test exceeds the usual limits.
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

  async function end(name: ProcessName, signal: NodeJS.Signals = 'SIGTERM') {
    const one = running.get(name) as ServerProcess;
    running.delete(name);
    one.signal(signal);
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
    /** Runs a command of Idea-Board's command line and returns its JSON output. */
    async cli<Result>(...args: string[]): Promise<Result> {
      const file = new URL('../../server/cli/main.ts', import.meta.url).pathname;
      const env = { PATH: process.env.PATH, ...environment };
      const { stdout } = await promisify(execFile)(process.execPath, [file, ...args, '--json'], { env });
      return JSON.parse(stdout);
    },
    query: async <Row>(text: string, values: unknown[] = []): Promise<Row[]> => (await pool.query(text, values)).rows,
    servers: () => [...running].filter(([name]) => name !== 'worker').map(([, one]) => one),
    /** Stops a process gracefully and starts it again. Returns the exit status of the stopped process. */
    async restart(name: ProcessName) {
      const status = await end(name);
      await start(name);
      return status;
    },
    /** Kills a process with SIGKILL and starts it again. */
    async kill(name: ProcessName) {
      await end(name, 'SIGKILL');
      await start(name);
    },
    /** Stops all processes gracefully and returns their exit statuses. */
    async stop() {
      const ended: Record<string, number | NodeJS.Signals> = {};
      for (const name of processNames) ended[name] = await end(name);
      return ended;
    },
    close,
  };
}
