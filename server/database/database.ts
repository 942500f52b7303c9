import { type EventSubscriber, wrap } from '@mikro-orm/core';
import { type EntityManager, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { entities } from '../entities/entities.ts';
import { activeSpan } from '../observability/active-span.ts';
import { FailFastClient } from './client.ts';
import { type Listener, type ListenerOptions, openListener } from './listener.ts';
import { type DatabaseUrls, sessionOptions } from './pooler.ts';
import { columnTypes, configOf, type Query } from './query.ts';
import { openReplica, type Replica } from './replica.ts';
import type { Tables } from './tables.ts';
import { traceQuery, traceText } from './trace-statement.ts';
import { buildTurns, type InTurn } from './turns.ts';

export interface Queryable {
  query<Values, Row>(query: Query<Values, Row>, values: NoInfer<Values>): Promise<Row[]>;
}

/** A Queryable that can also build queries at run time, for the administration pages and the command line. */
export interface QueryBuilding extends Queryable {
  readonly db: Kysely<Tables>;
}

export interface Transaction extends QueryBuilding {
  /**
   * The entity manager, created at the first access. It writes the changes of entities to the database before the next
   * query and before the commit.
   */
  readonly em: EntityManager;
  /** Runs work after the commit. After a rollback, the work does not run. The work must not throw. */
  afterCommit(work: () => void): void;
}

export interface Database extends QueryBuilding {
  /** Runs work in one transaction. Commits if the work resolves, and rolls back if it throws. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /**
   * Runs work that locks rows. Limits how many connections wait for the lock of the same row. A key names a row, for
   * example `idea:7`.
   */
  readonly inTurn: InTurn;
  /**
   * Runs queries of lists, searches and public pages. Uses the read replica if possible, so the rows may be a little
   * old. Otherwise uses the primary.
   */
  readonly reader: Queryable;
  /** The read replica. Undefined if DATABASE_READ_URL is not set. */
  readonly replica: Replica | undefined;
  /** A small pool with short timeouts for the readiness probe. Other requests do not use its connections. */
  readonly reserve: Queryable;
  /** Opens a connection that receives the notifications of a channel. The connection does not belong to a pool. */
  listen(options: Omit<ListenerOptions, 'connection'>): Promise<Listener>;
  readonly orm: MikroORM;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions extends DatabaseUrls {
  /** The read replica: its URL, and the maximum age of its data. */
  read?: { url: string; maxLagMs: number } | undefined;
  poolSize: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  /** The maximum time to wait for a row or table lock. Default: statementTimeoutMs. */
  lockTimeoutMs?: number;
  logger: Pick<Logger, 'warn'>;
}

/** Opens the pool that entity managers and queries share. The pool connects on first use. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const pool = openPool(options, { Client: FailFastClient, max: options.poolSize });
  const reserve = openPool(
    { ...options, connectTimeoutMs: probeTimeoutMs, statementTimeoutMs: probeTimeoutMs },
    reserveSettings,
  );
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: traceTexts(pool) }) });
  const localLimits = options.directUrl === undefined ? '' : setLocal(limitsOf(options));
  const orm = await MikroORM.init({
    entities,
    subscribers: [completeKeys],
    // The entity manager uses the connection pool that this function has opened. MikroORM needs the URL only for its
    // own bookkeeping.
    clientUrl: options.url,
    dbName: databaseName(options.url),
    namingStrategy: UnderscoreNamingStrategy,
    logger: message => options.logger.warn({ orm: message }, 'message of the ORM'),
    debug: false,
    driverOptions: db,
  });
  let isClosing = false;
  for (const one of [pool, reserve]) {
    // Handles 'error' events, because an 'error' event without a listener ends the process. A client emits the event if
    // PostgreSQL drops its connection, even if the connection is idle. If the client is in use, its query also fails.
    one.on('error', error => {
      if (!isClosing) options.logger.warn({ err: error }, 'lost an idle connection to PostgreSQL');
    });
    one.on('connect', client => client.on('error', () => {}));
  }

  const primary = { query: queryOf(pool) };
  const probe = { query: queryOf(reserve) };
  const replica = options.read && openReplicaOf(options, options.read, primary, probe);
  return {
    reserve: probe,
    reader: replica ?? primary,
    replica,
    listen: given =>
      openListener({
        ...given,
        connection: { ...directConnectionOf(options), application_name: 'idea-board listener' },
      }),
    orm,
    pool,
    db,
    query: primary.query,
    transaction: work => withRetries(() => transact(pool, orm, localLimits, work)),
    // The maximum number of connections that wait for one row. A few connections are enough: one holds the lock, and
    // the next one can take the lock at once.
    inTurn: buildTurns({
      width: Math.min(4, Math.max(2, Math.floor(options.poolSize / 4))),
      total: Math.max(1, Math.floor(options.poolSize / 2)),
      patienceMs: options.connectTimeoutMs,
    }),
    async close() {
      isClosing = true;
      await replica?.close();
      await orm.close(true);
      await Promise.all([pool, reserve].map(one => (one.ending ? undefined : one.end())));
    },
  };
}

const probeTimeoutMs = 1_000;

/**
 * The pool for the readiness probe. Each of the probe's checks has its own connection. The pool's timeouts are short,
 * because a load balancer may wait only two seconds for the probe.
 */
const reserveSettings: pg.PoolConfig = {
  application_name: 'idea-board probe',
  Client: FailFastClient,
  max: 3,
  idleTimeoutMillis: 60_000,
  query_timeout: probeTimeoutMs,
};

function queryOf(pool: pg.Pool): Queryable['query'] {
  return (query, values) =>
    traceQuery(query, () => withRetries(async () => (await pool.query(configOf(query, values))).rows));
}

/**
 * The codes for a deadlock and a serialization failure. With these errors, PostgreSQL rolls back the transaction or the
 * single statement. So the server can try the transaction or the statement again.
 */
const retryableCodes = ['40P01', '40001'];
/**
 * The maximum number of tries of a transaction or statement. Conflicts can be frequent: when sixty clients merged and
 * unmerged six ideas in parallel, a quarter of the unmerges failed at the first try.
 */
const maxTries = 10;

async function withRetries<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (tries >= maxTries || !retryableCodes.includes((error as { code?: string }).code ?? '')) throw error;
    }
  }
}

async function transact<T>(
  pool: pg.Pool,
  orm: MikroORM,
  localLimits: string,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const { transaction, end } = openTransaction(client, orm);
  try {
    const begin = `${beginStatement()}${localLimits}`;
    await traceText('begin', () => client.query(begin));
    const result = await work(transaction);
    const committed = await end(() => traceText('commit', () => client.query('commit')));
    client.release();
    for (const one of committed) one();
    return result;
  } catch (error) {
    // If the rollback fails, the connection is broken. PostgreSQL then rolls the transaction back itself, and the pool
    // must not use the connection again.
    await client.query('rollback').then(() => client.release(), client.release);
    throw error;
  }
}

/**
 * Begins a transaction. In a traced request, the transaction stores the request's span in a setting, so that
 * record_event() can read the span. The setting ends with the transaction. The span contains only hexadecimal digits
 * and hyphens, so it needs no escaping.
 */
function beginStatement(): string {
  const span = activeSpan();
  return span ? `begin; set local idea_board.traceparent = '${span.traceparent}'` : 'begin';
}

function openTransaction(client: pg.PoolClient, orm: MikroORM) {
  let isOver = false;
  let db: Kysely<Tables> | undefined;
  let em: EntityManager | undefined;
  const afterCommit: (() => void)[] = [];

  const transaction: Transaction = {
    get db() {
      db ??= buildQueriesOn(client, async () => em?.flush());
      return db;
    },
    get em() {
      if (!em) {
        em = orm.em.fork();
        em.setTransactionContext(buildQueriesOn(client));
      }
      return em;
    },
    afterCommit: work => void afterCommit.push(work),
    async query(query, values) {
      // Refuses the query, because the transaction has ended and another request may already use its connection.
      if (isOver) throw new Error('The transaction is over');
      await em?.flush();
      return traceQuery(query, async () => (await client.query(configOf(query, values))).rows);
    },
  };

  return {
    transaction,
    /** Ends the transaction. Returns the functions that were passed to afterCommit(). */
    async end(commit: () => Promise<unknown>) {
      await em?.flush();
      isOver = true;
      await commit();
      return afterCommit;
    },
  };
}

/** Returns a query builder on one connection. The query builder never releases the connection. */
function buildQueriesOn(client: pg.PoolClient, before?: () => Promise<void>): Kysely<Tables> {
  const connection = {
    async query(text: string, values: unknown[]) {
      await before?.();
      return traceText(text, () => client.query(text, values));
    },
    release() {},
  } as unknown as pg.PoolClient;
  const pool = { options: {}, connect: async () => connection, end: async () => {} };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

/** A pool whose connections trace the statements of Kysely. Without an active span, connections are unchanged. */
function traceTexts(pool: pg.Pool): pg.Pool {
  const connect = async () => {
    const client = await pool.connect();
    if (!activeSpan()) return client;
    const query = (text: string, values: unknown[]) => traceText(text, () => client.query(text, values));
    return Object.assign(Object.create(client) as pg.PoolClient, { query });
  };
  return { options: pool.options, connect, end: () => pool.end() } as unknown as pg.Pool;
}

function openPool(options: DatabaseOptions, settings: pg.PoolConfig): pg.Pool {
  return new pg.Pool({ ...connectionOf(options), ...settings });
}

/** The settings of a connection of the pool. A connection pooler refuses time limits as parameters of a connection. */
function connectionOf(options: DatabaseOptions): pg.ClientConfig {
  return {
    connectionString: options.url,
    application_name: 'idea-board',
    connectionTimeoutMillis: options.connectTimeoutMs,
    ...(options.directUrl === undefined ? limitsOf(options) : {}),
    query_timeout: options.statementTimeoutMs + 1000,
    keepAlive: true,
    options: sessionOptions,
    types: columnTypes,
  };
}

function openReplicaOf(
  options: DatabaseOptions,
  { url, maxLagMs }: NonNullable<DatabaseOptions['read']>,
  primary: Queryable,
  probe: Queryable,
): Replica {
  const connection = { ...connectionOf({ ...options, url, directUrl: undefined }), max: options.poolSize };
  return openReplica({ connection, primary, probe, maxLagMs, logger: options.logger });
}

function directConnectionOf({ directUrl, ...options }: DatabaseOptions): pg.ClientConfig {
  return connectionOf({ ...options, url: directUrl ?? options.url });
}

/**
 * The time limits of PostgreSQL. PostgreSQL cancels slow statements. If PostgreSQL no longer answers, the client's own
 * timeout applies.
 */
function limitsOf({ statementTimeoutMs, lockTimeoutMs }: DatabaseOptions) {
  return {
    statement_timeout: statementTimeoutMs,
    ...(lockTimeoutMs === undefined ? {} : { lock_timeout: lockTimeoutMs }),
    idle_in_transaction_session_timeout: statementTimeoutMs,
  };
}

/** Returns statements that set the limits until the transaction ends. */
function setLocal(limits: Record<string, number>): string {
  return Object.entries(limits)
    .map(([name, value]) => `; set local ${name} = ${value}`)
    .join('');
}

function databaseName(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1)) || 'postgres';
}

/**
 * Works around a bug of MikroORM 7.2, which registers a new entity with a composite primary key under its generated id
 * alone. MikroORM then forgets all but one of the entities that a flush creates. When this one entity is removed,
 * MikroORM inserts it again. So this function registers each new entity under its whole key.
 */
const completeKeys: EventSubscriber = {
  afterCreate({ entity, em, meta }) {
    if (!meta.compositePK) return;
    const identities = em.getUnitOfWork().getIdentityMap();
    identities.delete(entity);
    delete wrap(entity, true).__pk;
    identities.store(entity);
  },
};
