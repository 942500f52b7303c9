import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { runAlone } from '../../server/database/embedded/cluster-access.ts';
import { startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { locatePostgresBinaries } from '../../server/database/embedded/postgres-binaries.ts';
import { findCluster } from '../../server/database/embedded/postgres-cluster.ts';
import { migrate } from '../../server/database/migrator.ts';

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
      // Ignores an error here. The processes and connections have ended, so the next step of the benchmark fails
      // anyway.
      await working.catch(() => {});
      await stage.#stop();
    }
  }

  async #stop() {
    for (const stop of this.#stops.splice(0).reverse()) await stop();
  }

  /** Starts a migrated PostgreSQL with production settings. PostgreSQL then writes every commit to the disk. */
  async startDatabase(): Promise<string> {
    const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-bench-'));
    // If this process runs as root, PostgreSQL runs as another system user, who needs access to the directory.
    await chmod(dataDir, 0o711);
    const starting = startForSeeding(dataDir);
    this.#stops.push(async () => {
      // Waits for a PostgreSQL that is still starting. Otherwise that PostgreSQL would continue to run in a removed
      // directory.
      await starting.then(
        postgres => postgres.stop(),
        () => {},
      );
      await rm(dataDir, { recursive: true, force: true });
    });
    const postgres = await starting;
    await migrate(postgres.url());
    return postgres.url();
  }

  async connect(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    this.#stops.push(() => client.end());
    return client;
  }

  startChild(file: string, environment: Record<string, string> = {}, nodeOptions: string[] = []): Child {
    const child = new Child(file, environment, nodeOptions);
    this.#stops.push(() => child.stop());
    return child;
  }
}

/** Allows the application role to skip the checks of foreign keys and to make checkpoints. The seed does both. */
async function startForSeeding(dataDir: string) {
  await (await startEmbeddedPostgres({ dataDir })).stop();
  const cluster = await findCluster(dataDir);
  if (cluster === undefined) throw new Error(`there is no database in ${dataDir}`);
  const grant = `do $$ begin
  grant pg_checkpoint to idea_board;
  grant set on parameter session_replication_role to idea_board;
end $$;\n\n`;
  await runAlone(cluster, await locatePostgresBinaries(), 'postgres', grant);
  return startEmbeddedPostgres({ dataDir });
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
      // Ctrl-C must not reach the child, because the parent stops everything in order.
      detached: true,
      // Discards the log of the child, which the child writes as in production.
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
