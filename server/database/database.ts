import { type EventSubscriber, wrap } from '@mikro-orm/core';
import { type EntityManager, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { entities } from '../entities/entities.ts';
import { WaryClient } from './client.ts';
import { columnTypes, configOf, type Query } from './query.ts';
import type { Tables } from './tables.ts';
import { buildTurns, type InTurn } from './turns.ts';

/** Something that runs statements: the pool, or a transaction. */
export interface Queryable {
  query<Values, Row>(query: Query<Values, Row>, values: NoInfer<Values>): Promise<Row[]>;
}

/** Something that also builds queries for each call: for pages of the administration and for the command line. */
export interface QueryBuilding extends Queryable {
  readonly db: Kysely<Tables>;
}

/** A transaction on one connection. */
export interface Transaction extends QueryBuilding {
  /** Made when it is first read. What it holds is in the database before the next query, and before the commit. */
  readonly em: EntityManager;
  /** Has something done once the transaction has committed, and never when it is rolled back. It must not throw. */
  afterCommit(work: () => void): void;
}

export interface Database extends QueryBuilding {
  /** Runs work in one transaction: it commits when work resolves, and rolls back when it throws. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Runs work that locks what the keys name, such as `idea:7`, without letting it use up the pool. */
  readonly inTurn: InTurn;
  /** A few connections that requests cannot use up, and that nothing may use for long. */
  readonly reserve: Queryable;
  readonly orm: MikroORM;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  /** How long a statement waits for a lock. Without it, as long as a statement may run. */
  lockTimeoutMs?: number;
  logger: Pick<Logger, 'warn'>;
}

/** Opens the pool that the entity managers and the queries share. No connection is made yet. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const pool = openPool(options, { Client: WaryClient, max: options.poolSize });
  const reserve = openPool(options, reserveSettings);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const orm = await MikroORM.init({
    entities,
    subscribers: [completeKeys],
    // The pool above is what connects; this names the database for the ORM's own bookkeeping.
    clientUrl: options.url,
    dbName: databaseName(options.url),
    namingStrategy: UnderscoreNamingStrategy,
    logger: message => options.logger.warn({ orm: message }, 'message of the ORM'),
    debug: false,
    driverOptions: db,
  });
  let isClosing = false;
  for (const one of [pool, reserve]) {
    // An 'error' event without a listener ends the process. The pool emits one for an idle connection that PostgreSQL
    // drops. A client in use emits one, too: the query that it runs fails, or the next one.
    one.on('error', error => {
      if (!isClosing) options.logger.warn({ err: error }, 'lost an idle connection to PostgreSQL');
    });
    one.on('connect', client => client.on('error', () => {}));
  }

  return {
    reserve: { query: queryOf(reserve) },
    orm,
    pool,
    db,
    query: queryOf(pool),
    transaction: work => transact(pool, orm, work),
    // One connection works on a row while another is ready to follow. More of them only wait for the row.
    inTurn: buildTurns({
      width: Math.min(4, Math.max(2, Math.floor(options.poolSize / 4))),
      total: Math.max(1, Math.floor(options.poolSize / 2)),
      patienceMs: options.connectTimeoutMs,
    }),
    async close() {
      isClosing = true;
      await orm.close(true);
      await Promise.all([pool, reserve].map(one => (one.ending ? undefined : one.end())));
    },
  };
}

function openPool(options: DatabaseOptions, settings: pg.PoolConfig): pg.Pool {
  return new pg.Pool({ ...connectionSettings(options), ...settings });
}

/** One for each check of the readiness probe, so that none waits for another: whoever asks waits for two seconds. */
const reserveSettings: pg.PoolConfig = {
  application_name: 'idea-board probe',
  Client: WaryClient,
  max: 3,
  idleTimeoutMillis: 60_000,
  connectionTimeoutMillis: 1_000,
  statement_timeout: 1_000,
  query_timeout: 1_000,
};

function queryOf(pool: pg.Pool): Queryable['query'] {
  return async (query, values) => {
    const config = configOf(query, values);
    for (let tries = 1; ; tries++) {
      try {
        return (await pool.query(config)).rows;
      } catch (error) {
        if (!isWorthAnotherTry(error, tries)) throw error;
      }
    }
  };
}

/**
 * PostgreSQL chose this transaction to break a deadlock, or it came in the way of another: nothing was written. A
 * statement by itself is a transaction, too.
 */
const retryableCodes = new Set(['40P01', '40001']);
/** Of sixty clients who merged and unmerged six ideas at once, an unmerge was in the way of another every fourth time. */
const maxTries = 10;

function isWorthAnotherTry(error: unknown, tries: number): boolean {
  const { code } = error as { code?: string };
  return tries < maxTries && code !== undefined && retryableCodes.has(code);
}

async function transact<T>(pool: pg.Pool, orm: MikroORM, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const client = await pool.connect();
    const { transaction, end } = openTransaction(client, orm);
    try {
      await client.query('begin');
      const result = await work(transaction);
      const committed = await end(() => client.query('commit'));
      client.release();
      for (const one of committed) one();
      return result;
    } catch (error) {
      await rollBack(client);
      if (!isWorthAnotherTry(error, tries)) throw error;
    }
  }
}

/** On a connection that broke, PostgreSQL rolls back by itself, and the pool must not use the connection again. */
async function rollBack(client: pg.PoolClient) {
  await client.query('rollback').then(
    () => client.release(),
    (error: Error) => client.release(error),
  );
}
/** Opens what one transaction is given. The entity manager and the query builder are made when they are first read. */
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
      // The connection may serve somebody else already.
      if (isOver) throw new Error('The transaction is over');
      await em?.flush();
      return (await client.query(configOf(query, values))).rows;
    },
  };

  return {
    transaction,
    /** Ends the transaction, and answers what is to be done after it. */
    async end(commit: () => Promise<unknown>) {
      await em?.flush();
      isOver = true;
      await commit();
      return afterCommit;
    },
  };
}

/** A query builder whose every query runs on one connection, which it never releases. */
function buildQueriesOn(client: pg.PoolClient, before?: () => Promise<void>): Kysely<Tables> {
  const connection = {
    async query(text: string, values: unknown[]) {
      await before?.();
      return client.query(text, values);
    },
    release() {},
  } as unknown as pg.PoolClient;
  const pool = { options: {}, connect: async () => connection, end: async () => {} };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

function connectionSettings(options: DatabaseOptions): pg.PoolConfig {
  return {
    connectionString: options.url,
    application_name: 'idea-board',
    connectionTimeoutMillis: options.connectTimeoutMs,
    // PostgreSQL ends what runs too long; the client's own limit is for a PostgreSQL that has gone silent.
    statement_timeout: options.statementTimeoutMs,
    ...(options.lockTimeoutMs === undefined ? {} : { lock_timeout: options.lockTimeoutMs }),
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + 1000,
    keepAlive: true,
    // Times are read as text and stand in cursors: they must look the same whatever the database's own settings are.
    options: '-c DateStyle=ISO -c TimeZone=UTC',
    types: columnTypes,
  };
}

function databaseName(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1)) || 'postgres';
}

/**
 * Stores each new row under its whole key. MikroORM 7.2 takes the id from PostgreSQL for the whole key of a new row. So it
 * forgets all but one of the rows that one flush creates, and inserts that one again instead of removing it.
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
