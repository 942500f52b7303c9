import type { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Config } from '../config.ts';
import { FailFastClient } from '../database/client.ts';
import type { Queryable } from '../database/database.ts';
import { runOn } from '../database/query.ts';
import { traceQuery } from '../database/trace-statement.ts';
import { webhookSlots } from './pools.ts';

type ConnectionConfig = Pick<
  Config,
  'DATABASE_CONNECT_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS' | 'WORKER_CONCURRENCY'
>;

/** Returns the usual timeouts of connections. Without these timeouts, a job could wait forever if PostgreSQL hangs. */
export function patienceOf(
  config: Pick<Config, 'DATABASE_CONNECT_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS'>,
): pg.ClientConfig {
  return {
    connectionTimeoutMillis: config.DATABASE_CONNECT_TIMEOUT_MS,
    statement_timeout: config.DATABASE_STATEMENT_TIMEOUT_MS,
    query_timeout: config.DATABASE_STATEMENT_TIMEOUT_MS + 1000,
    keepAlive: true,
  };
}

/** The maximum time that close() waits until all connections have been returned to the pool. */
const farewellMs = 1_000;

/**
 * The number of additional connections for purposes such as listening for new jobs. Only a few of these connections are
 * open at the same time.
 */
const spareConnections = 6;

/**
 * A runner's connections. Emits 'answer lost' if a statement gets no answer, because PostgreSQL may have executed the
 * statement.
 */
export class WorkerConnections extends pg.Pool {
  #gate: Promise<void> | undefined;
  readonly #clients = new Set<FailFastClient>();

  constructor(url: string, config: ConnectionConfig, onLost: (error: Error) => void) {
    super({
      connectionString: url,
      application_name: 'idea-board worker',
      Client: FailFastClient,
      max: webhookSlots(config.WORKER_CONCURRENCY) + spareConnections,
      ...patienceOf(config),
      // With asynchronous commits, a crash of PostgreSQL may lose the record that a job has ended. The job then runs
      // again (see TaskDependencies).
      onConnect: async client => {
        await client.query('set synchronous_commit = off');
      },
    });
    this.on('error', onLost);
    this.on('connect', (client: pg.ClientBase) => {
      if (!(client instanceof FailFastClient)) return;
      this.#clients.add(client);
      client.on('error', onLost);
      client.on('end', () => this.#clients.delete(client));
      (client as EventEmitter).on('answer lost', () => this.emit('answer lost'));
    });
  }

  /** Makes connect() wait for the promise `gate`. If the promise rejects, connect() fails. */
  waitFor(gate: Promise<void>) {
    this.#gate = gate;
    const open = () => {
      if (this.#gate === gate) this.#gate = undefined;
    };
    gate.then(open, open);
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg overloads connect in ways that no single signature can state.
  override connect(...args: any[]): any {
    const [callback] = args as [ConnectCallback?];
    // Ignores the second release of a connection. If the listening connection of graphile-worker breaks during a stop,
    // graphile-worker releases the connection twice. Without this code, the pool would throw an error that nothing
    // catches. After the pool has ended, connect() gives the callback no client and no release function.
    const take: ConnectCallback | undefined =
      callback && ((error, client, release) => callback(error, client, once(release ?? (() => {}))));
    if (!this.#gate) return take ? super.connect(take) : super.connect();
    const connected = this.#gate.then(() => super.connect());
    if (!take) return connected;
    connected.then(
      client => take(undefined, client, client.release),
      error => take(error, undefined, () => {}),
    );
  }

  /** Closes all connections immediately, including those in use, and opens no new ones. */
  cut() {
    for (const client of this.#clients) client.cut();
    if (!this.ending) this.end().catch(() => {});
  }

  /** Closes each connection when it is returned to the pool. After a short time, closes the other connections. */
  async close(): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.end(), delay(farewellMs, undefined, over).catch(() => {})]);
    over.abort();
    this.cut();
  }
}

type Release = (error?: Error | boolean) => void;
type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, release?: Release) => void;

function once(release: Release): Release {
  let isReleased = false;
  return error => {
    if (isReleased) return;
    isReleased = true;
    release(error);
  };
}

export function queryOn(pool: pg.Pool): Queryable {
  return { query: (query, values) => traceQuery(query, () => runOn(pool, query, values)) };
}
