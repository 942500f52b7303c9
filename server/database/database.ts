import { type EntityManager, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { CompiledQuery, type Transaction as KyselyTransaction } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { entities } from '../entities/entities.ts';
import { DatabaseClient, WaryClient } from './client.ts';
import type { Statement } from './statement.ts';
import { buildTurns, type InTurn } from './turns.ts';

/** Something that runs statements: the pool, or a transaction. */
export interface Queryable {
  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
}

/** A transaction: prepared statements and the ORM's entity manager on one connection. */
export interface Transaction extends Queryable {
  readonly em: EntityManager;
  /** Has something done once the transaction has committed, and never when it is rolled back. It must not throw. */
  afterCommit(work: () => void): void;
}

export interface Database extends Queryable {
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

/**
 * Opens the pool that the ORM and the prepared statements share. No connection is made yet.
 *
 * Reads, the vote and admission run as prepared statements: at 16 connections the same reads through the entity
 * manager reached less than half of the requests per second. Everything else that changes rows uses entities.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  let pool: pg.Pool | undefined;
  const orm = await MikroORM.init({
    entities,
    // The pool below is what connects; this names the database for the ORM's own bookkeeping.
    clientUrl: options.url,
    dbName: databaseName(options.url),
    namingStrategy: UnderscoreNamingStrategy,
    logger: message => options.logger.warn({ orm: message }, 'message of the ORM'),
    debug: false,
    driverOptions: {
      ...connectionSettings(options),
      Client: DatabaseClient,
      max: options.poolSize,
      onPoolCreated: (created: pg.Pool) => {
        pool = created;
      },
    },
  });
  orm.em.getConnection().getClient();
  if (!pool) throw new Error('The ORM made no pool');
  const opened = pool;
  const reserve = new pg.Pool({ ...connectionSettings(options), ...reserveSettings });
  // A connection that PostgreSQL drops is an 'error' event, and one without a listener ends the process.
  let isClosing = false;
  for (const one of [opened, reserve]) {
    one.on('error', error => {
      if (!isClosing) options.logger.warn({ err: error }, 'lost an idle connection to PostgreSQL');
    });
  }

  return {
    reserve: { query: queryOf(reserve) },
    orm,
    pool: opened,
    query: queryOf(opened),
    transaction: work => transact(orm, work),
    // One connection works on a row while another is ready to follow. More of them only wait for the row.
    inTurn: buildTurns({
      width: Math.min(4, Math.max(2, Math.floor(options.poolSize / 4))),
      total: Math.max(1, Math.floor(options.poolSize / 2)),
      patienceMs: options.connectTimeoutMs,
    }),
    async close() {
      isClosing = true;
      await Promise.all([orm.close(true), reserve.end()]);
      // The ORM leaves a pool alone that it never used itself.
      if (!opened.ending) await opened.end();
    },
  };
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
  return async ({ name, text }, values) => {
    for (let tries = 1; ; tries++) {
      try {
        const result = await pool.query({ name, text, values: values as unknown[] });
        return result.rows;
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

async function transact<T>(orm: MikroORM, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    // Of this try alone: one before it was rolled back.
    const afterCommit: (() => void)[] = [];
    try {
      const result = await orm.em.fork().transactional(em => work(openTransaction(em, afterCommit)));
      for (const one of afterCommit) one();
      return result;
    } catch (error) {
      if (!isWorthAnotherTry(error, tries)) throw error;
    }
  }
}

function openTransaction(em: EntityManager, afterCommit: (() => void)[]): Transaction {
  return {
    em,
    afterCommit: one => void afterCommit.push(one),
    async query<Row>(statement: Statement<Row>, values: readonly unknown[]) {
      const transaction = em.getTransactionContext<KyselyTransaction<unknown>>();
      if (!transaction) throw new Error('The transaction is over');
      // What the entity manager holds must be in the database before a statement looks at it.
      await em.flush();
      const result = await transaction.executeQuery<Row>(CompiledQuery.raw(statement.text, [...values]));
      return result.rows;
    },
  };
}

const bigintOid = 20;

/** Ids are numbers here. Times stay text: the ORM converts its own, and a reader passes them on. */
export const columnTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === bigintOid) return Number;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return (value: string) => value;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as pg.CustomTypesConfig;

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
