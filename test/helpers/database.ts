import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { type Database, openDatabase } from '../../server/database/database.ts';
import { templateDatabase } from './postgres.ts';

export interface TestDatabase {
  url: string;
  database: Database;
  /** Runs SQL outside the server, to look at what is left behind or to arrange a state. */
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/** A database of the test file's own, cloned from the migrated template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await maintain(`create database ${name} template ${templateDatabase}`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const database = await openDatabase({
    url: url.href,
    poolSize: 20,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 10_000,
    logger: pino({ level: 'silent' }),
  });
  return {
    url: url.href,
    database,
    sql: async (text, values = []) => (await database.pool.query(text, values)).rows,
    async drop() {
      await database.close();
      await maintain(`drop database ${name} with (force)`);
    },
  };
}

async function maintain(sql: string) {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
