import { expect } from 'vitest';

/** A connection that runs an SQL statement, for example the connection of a test server or a client of pg. */
type Connection =
  | { sql: (text: string) => Promise<unknown[]> }
  | { query: (text: string) => Promise<{ rows: unknown[] }> };

/** Returns the number of connections to the database that wait for a lock. */
export async function countLockWaits(connection: Connection): Promise<number> {
  const text = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return 'sql' in connection ? (await connection.sql(text)).length : (await connection.query(text)).rows.length;
}

/** Waits until exactly `count` connections to the database wait for a lock. Fails after 30 seconds. */
export async function waitForLockWaits(connection: Connection, count: number) {
  await expect.poll(() => countLockWaits(connection), { interval: 10, timeout: 30_000 }).toBe(count);
}
