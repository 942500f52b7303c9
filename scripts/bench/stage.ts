import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import pg from 'pg';
import packageFile from '../../package.json' with { type: 'json' };
import { migrate } from '../../server/database/migrator.ts';
import { type OwnPostgres, startOwnPostgres } from '../../test/helpers/own-postgres.ts';
import type { Usage } from './answer-calls.ts';

/** PostgreSQL's settings while a benchmark fills the database. */
const fillSettings = {
  // Skips triggers and the checks of foreign keys. The rows are consistent, and the checks would take most of the time.
  session_replication_role: 'replica',
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '16GB',
  work_mem: '256MB',
  maintenance_work_mem: '512MB',
};

/**
 * PostgreSQL's settings during a measurement. The manual of PostgreSQL recommends a quarter of the memory for
 * shared_buffers. The default of 128 MB is too small for a million ideas.
 */
const measureSettings = { shared_buffers: '4GB' };

export interface Database<Filled> {
  url: string;
  postgres: OwnPostgres;
  filled: Filled;
}

/** Starts the processes of a benchmark. At the end, stops all processes and removes all files, even after a failure. */
export class Stage {
  readonly #stops: (() => Promise<unknown>)[] = [];

  static async use<Result>(signal: AbortSignal, work: (stage: Stage) => Promise<Result>): Promise<Result> {
    const stage = new Stage();
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
    });
    const working = work(stage);
    try {
      return await Promise.race([working, aborted]);
    } finally {
      await stage.#stop();
      // Ignores an error of `working`. If `working` failed first, the caller already gets that error. Later errors come
      // only from the stopped processes.
      await working.catch(() => {});
      await stage.#stop();
    }
  }

  async #stop() {
    for (const stop of this.#stops.splice(0).reverse()) await stop();
  }

  /**
   * Starts PostgreSQL, migrates and fills its database, and restarts it with production settings. From then on,
   * PostgreSQL writes every commit to the disk.
   */
  async startDatabase<Filled>(
    fill: (client: pg.Client) => Promise<Filled>,
    migrateDatabase: (url: string) => Promise<unknown> = migrate,
  ): Promise<Database<Filled>> {
    const starting = startOwnPostgres({}, { isOnDisk: true });
    // Waits for a PostgreSQL that is still starting. Otherwise that PostgreSQL would continue to run after the
    // benchmark.
    this.#stops.push(() =>
      starting.then(
        postgres => postgres.close(),
        () => {},
      ),
    );
    const postgres = await starting;
    const restart = async (settings: Record<string, string>) => {
      await postgres.configure(settings);
      await postgres.stop();
      await postgres.start();
    };
    await restart(fillSettings);
    await migrateDatabase(postgres.url);
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    const filled = await fill(client).finally(() => client.end());
    await restart(measureSettings);
    // Writes all changed files to the disk now. Otherwise the operating system would write them during the measurement.
    await promisify(execFile)('sync');
    return { url: postgres.url, postgres, filled };
  }

  /** Runs `stop` at the end of the benchmark. The last registered function runs first. */
  onStop(stop: () => Promise<unknown>) {
    this.#stops.push(stop);
  }

  async connect(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    this.#stops.push(() => client.end());
    return client;
  }

  /** Starts a server or a worker with the Node options of `npm start`. */
  startServer(file: string, environment: Record<string, string>): Child {
    const { node, compiled } = packageFile.config;
    return this.startChild(file, { NODE_COMPILE_CACHE: compiled, ...environment }, node.split(' '));
  }

  startChild(file: string, environment: Record<string, string> = {}, nodeOptions: string[] = []): Child {
    const child = new Child(file, environment, nodeOptions);
    this.#stops.push(() => child.stop());
    return child;
  }
}

/**
 * A child process that answers one call at a time. The server and the load generator are separate processes, so that
 * they do not share an event loop.
 */
export class Child {
  readonly #process: ChildProcess;
  readonly #name: string;

  constructor(file: string, environment: Record<string, string>, nodeOptions: string[]) {
    this.#name = file;
    this.#process = fork(new URL(file, import.meta.url), [], {
      env: { ...process.env, ...environment },
      execArgv: nodeOptions,
      // Ctrl-C must not reach the child, because the parent stops its children itself, one after the other.
      detached: true,
      // The child writes its log as in production, but the benchmark discards the log.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  async call<Answer>(message: unknown): Promise<Answer> {
    const ended = new AbortController();
    try {
      this.#process.send(message as object);
      const [answer] = await Promise.race([
        once(this.#process, 'message', { signal: ended.signal }),
        once(this.#process, 'exit', { signal: ended.signal }).then(() => {
          throw new Error(`${this.#name} has ended`);
        }),
      ]);
      if ('error' in answer) throw new Error(`${this.#name}: ${answer.error}`);
      return answer.value as Answer;
    } finally {
      ended.abort();
    }
  }

  /** Runs `work`. Returns the result of `work`, and the CPU time and the loop delay of the child meanwhile. */
  async measureCpu<Result>(
    work: () => Promise<Result>,
  ): Promise<{ result: Result; cpuMicroseconds: number; loopDelayP99Ms: number }> {
    const before = await this.call<Usage>('usage');
    const result = await work();
    const { cpuMicroseconds, loopDelayP99Ms } = await this.call<Usage>('usage');
    return { result, cpuMicroseconds: cpuMicroseconds - before.cpuMicroseconds, loopDelayP99Ms };
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
  }
}

/** Prints progress on standard error. The figures go to standard output. */
export function note(text: string) {
  process.stderr.write(`${text}\n`);
}
