import type { EventEmitter } from 'node:events';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { FailFastClient } from '../../server/database/client.ts';
import { columnTypes } from '../../server/database/query.ts';
import { createTestDatabase } from '../helpers/database.ts';

const db = await createTestDatabase();
afterAll(() => db.drop());

/** Opens a pool with one connection, and counts the descriptions of columns that PostgreSQL sends on the connection. */
async function openPool() {
  const pool = new pg.Pool({ connectionString: db.url, Client: FailFastClient, max: 1, types: columnTypes });
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  const received = { descriptions: 0 };
  const { connection } = client as unknown as { connection: EventEmitter };
  connection.on('rowDescription', () => received.descriptions++);
  await client.query('create temporary table samples (id bigint, name text)');
  await client.query(`insert into samples values (1, 'first'), (2, null)`);
  client.release();
  return { pool, received };
}

const select = (id: number) => ({ name: 'sample', text: 'select id, name from samples where id = $1', values: [id] });
const insert = (id: number) => ({ name: 'add', text: 'insert into samples (id) values ($1)', values: [id] });

test('a connection asks PostgreSQL only once for the columns of a prepared statement, and each run returns its own rows', async () => {
  const { pool, received } = await openPool();
  const client = await pool.connect();
  const first = await client.query(select(1));
  const second = await client.query(select(2));
  client.release();
  const third = await pool.query(select(3));

  expect(first.rows).toEqual([{ id: 1, name: 'first' }]);
  expect(second.rows).toEqual([{ id: 2, name: null }]);
  expect(third.rows).toEqual([]);
  expect(received.descriptions).toBe(1);
});

test('a prepared statement without result columns runs several times', async () => {
  const { pool, received } = await openPool();
  const counts = [await pool.query(insert(3)), await pool.query(insert(4))].map(({ rowCount }) => rowCount);

  expect(counts).toEqual([1, 1]);
  expect((await pool.query('select id from samples order by id')).rows).toEqual([
    { id: 1 },
    { id: 2 },
    { id: 3 },
    { id: 4 },
  ]);
  expect(received.descriptions).toBe(1);
});

test('a prepared statement that fails works again on the same connection', async () => {
  const { pool } = await openPool();
  const divide = (by: number) => ({ name: 'divide', text: 'select 6 / $1::integer as result', values: [by] });
  const client = await pool.connect();
  onTestFinished(() => client.release());
  const run = async (by: number) => (await client.query(divide(by))).rows;

  await expect(run(0)).rejects.toThrow('division by zero');
  expect(await run(2)).toEqual([{ result: 3 }]);
  await expect(run(0)).rejects.toThrow('division by zero');
  expect(await run(3)).toEqual([{ result: 2 }]);
});

test('PostgreSQL refuses a prepared statement after the type of one of its columns has changed', async () => {
  const { pool } = await openPool();
  await pool.query(select(1));
  await pool.query(`alter table samples alter name type integer using 7`);

  await expect(pool.query(select(1))).rejects.toThrow('cached plan must not change result type');
});
