import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, inject } from 'vitest';
import { type Database, openDatabase } from '../../server/database/database.ts';
import { type OpenDatabase, rememberTemplate, restoreDatabase, takeRestoredDatabase } from './restored-databases.ts';

export interface TestDatabase {
  url: string;
  database: Database;
  /** Runs SQL on a connection of the test. Tests use it to read or prepare data without the server. */
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/**
 * Creates a database for a test file by copying a template database. No connection to the template may be open. Instead
 * of a copy of the default template, the file may get the restored database of an earlier file.
 */
export async function createTestDatabase(template = inject('templateDatabase')): Promise<TestDatabase> {
  const isDefault = template === inject('templateDatabase');
  const db = (isDefault ? takeRestoredDatabase() : undefined) ?? (await open(await createBareDatabase(template)));
  if (isDefault) await rememberTemplate(db);
  let isDropped = false;
  return {
    ...db,
    sql: sqlOn(db.database),
    async drop() {
      if (isDropped) return;
      isDropped = true;
      if (!isDefault || !(await restoreDatabase(db))) await closeAndDrop(db);
    },
  };
}

/** Opens a database that a test has created. */
export async function openTestDatabase(created: { url: string; drop(): Promise<void> }): Promise<TestDatabase> {
  const db = await open(created);
  return { ...db, sql: sqlOn(db.database), drop: () => closeAndDrop(db) };
}

async function closeAndDrop({ database, drop }: OpenDatabase): Promise<void> {
  await database.close();
  await drop();
}

async function open({ url, drop }: { url: string; drop(): Promise<void> }): Promise<OpenDatabase> {
  const database = await openDatabase({
    url,
    poolSize: 8,
    connectTimeoutMs: 30_000,
    statementTimeoutMs: 10_000,
    logger: pino({ level: 'silent' }),
  });
  return { url, database, drop };
}

/** Returns a function that runs SQL on the connections of a database. */
export function sqlOn({ pool }: Pick<Database, 'pool'>): TestDatabase['sql'] {
  return async (text, values = []) => (await pool.query(text, values)).rows;
}

/** Creates a database. Drops it after the last test of the file. */
export async function createDatabaseForFile(template?: string): Promise<TestDatabase> {
  const database = await createTestDatabase(template);
  afterAll(() => database.drop());
  return database;
}

/** Creates a database without a connection pool. By default the database is empty. */
export async function createBareDatabase(template = 'template1'): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `${inject('databasePrefix')}${randomBytes(8).toString('hex')}`;
  // PostgreSQL copies the files of the template. With its default strategy, it would write the copy to the write-ahead
  // log, which takes one and a half times as long.
  await maintain(`create database ${name} template ${template} strategy file_copy`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  // Uses `if exists`, because the test may have dropped the database already.
  return { url: url.href, drop: () => maintain(`drop database if exists ${name} with (force)`) };
}

/** Opens a connection outside every pool, for example to hold a lock or to end other connections. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'test' });
  // Ignores the error of a broken connection, because the test may drop the database while this connection is open.
  client.on('error', () => {});
  await client.connect();
  return client;
}

let maintenance: pg.Pool | undefined;

/** Runs SQL in the maintenance database. All test files of a process share the connections to this database. */
async function maintain(sql: string) {
  maintenance ??= new pg.Pool({ connectionString: inject('postgresUrl'), allowExitOnIdle: true });
  await maintenance.query(sql);
}
