import type { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Config } from '../config.ts';
import { WaryClient } from '../database/client.ts';
import type { Queryable } from '../database/database.ts';
import { runOn } from '../database/query.ts';
import { webhookSlots } from './pools.ts';

type ConnectionConfig = Pick<
  Config,
  'DATABASE_CONNECT_TIMEOUT_MS' | 'DATABASE_STATEMENT_TIMEOUT_MS' | 'WORKER_CONCURRENCY'
>;

/** How long the worker waits for PostgreSQL, which may have gone silent without having gone away: no longer than others. */
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

/** How long a connection may take to be given back when everything has ended. */
const farewellMs = 1_000;

/** For what the worker does beside its jobs, such as listening for jobs in each pool. Connections are made when they are needed, which few are at a time. */
const spareConnections = 6;

/**
 * The connections of a runner, which can be held back until something that they depend on is there. Emits 'answer lost'
 * when one broke while a statement was under way that may have been carried out.
 */
export class WorkerConnections extends pg.Pool {
  #gate: Promise<void> | undefined;
  readonly #clients = new Set<WaryClient>();

  constructor(url: string, config: ConnectionConfig, onLost: (error: Error) => void) {
    super({
      connectionString: url,
      application_name: 'idea-board worker',
      Client: WaryClient,
      max: webhookSlots(config.WORKER_CONCURRENCY) + spareConnections,
      ...patienceOf(config),
      // The work of a job is done again when its end was lost; see TaskDependencies.
      onConnect: async client => {
        await client.query('set synchronous_commit = off');
      },
    });
    this.on('error', onLost);
    this.on('connect', (client: pg.ClientBase) => {
      if (!(client instanceof WaryClient)) return;
      this.#clients.add(client);
      client.on('error', onLost);
      client.on('end', () => this.#clients.delete(client));
      (client as EventEmitter).on('answer lost', () => this.emit('answer lost'));
    });
  }

  /** Gives out no connection until the gate is open; fails where the gate fails. */
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
    // graphile-worker gives the connection on which it listens back twice when that breaks as it stops, and the pool
    // throws at the second time where nobody catches it. Of a pool that has ended there is none to give back.
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

  /** Breaks every connection, whoever uses it, and makes no new one. */
  cut() {
    for (const client of this.#clients) client.cut();
    if (!this.ending) this.end().catch(() => {});
  }

  /** Ends every connection as it is given back, and breaks those that are not given back soon. */
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

/** Our own statements on such connections, with rows as everywhere else. */
export function queryOn(pool: pg.Pool): Queryable {
  return { query: (query, values) => runOn(pool, query, values) };
}
