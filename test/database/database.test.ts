import { once } from 'node:events';
import { pino } from 'pino';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../server/database/database.ts';
import { type Arguments, query, queryOfText } from '../../server/database/query.ts';
import { Tag } from '../../server/entities/board.ts';
import { connect, createTestDatabase } from '../helpers/database.ts';
import { createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { startProxy, type TcpProxy } from '../helpers/proxy.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForTest, type TestServer } from '../helpers/server.ts';

// These timeouts are short, because many tests wait until a timeout expires. But on a busy machine, a read can take half a
// second.
const statementTimeoutMs = 1_000;
/** If PostgreSQL does not answer a query, the server stops waiting one second after the statement timeout. */
const readTimeoutMs = statementTimeoutMs + 1000;
const connectTimeoutMs = 1_000;
/** Extra time in milliseconds for responses, because the machine may be busy with other tests. */
const slackMs = 10_000;
const patience = { timeout: 30_000, interval: 10 };

const db = await createTestDatabase();
const world = await createWorld(db);
const { token } = await issueToken(db, world, 'moderate');
const ideaId = await insertIdea(db, world);
/** Two connections outside the pools: `outside` holds locks, and `watcher` watches and ends other connections. */
const outside = await connect(db.url);
const watcher = await connect(db.url);
afterAll(async () => {
  await outside.end();
  await watcher.end();
  await db.drop();
});

const poolSize = 4;

/** Opens another connection pool that uses the short timeouts above. */
async function open(url = db.url, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const logger = pino({ level: 'silent' });
  const database = await openDatabase({ url, poolSize, connectTimeoutMs, statementTimeoutMs, logger, ...options });
  onTestFinished(() => database.close());
  return database;
}

async function serve(url = db.url, options: Partial<DatabaseOptions> = {}): Promise<TestServer> {
  const database = await open(url, options);
  return startServerForTest({ on: { ...db, database } });
}

const vote = (server: TestServer, value: string) =>
  request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value } });
const read = (server: TestServer) => request(server, `GET /api/v1/ideas/${ideaId}`, { token });
const create = (server: TestServer, title: string) =>
  request(server, 'POST /api/v1/ideas', { token, json: { title, body: 'Whether it is kept.' } });

/**
 * Makes PostgreSQL end all connections with the name `idea-board`: the connections of the servers and of `db`. The
 * connections `outside` and `watcher` have another name.
 */
async function terminateAll(): Promise<number> {
  const { rowCount } = await watcher.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name = 'idea-board'`,
  );
  return rowCount ?? 0;
}

const expectUnavailable = (answer: Answer) => {
  expect(answer).toMatchObject({ status: 503, key: 'service_unavailable' });
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(Object.keys(answer.body.error).sort()).toEqual(['key', 'message']);
};

/** Awaits the promise `work`. Returns its result and the time that the test waited, in milliseconds. */
async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  return [await work, performance.now() - start];
}

describe('connections that PostgreSQL ends', () => {
  test('the server continues when PostgreSQL ends idle database connections, and the next query works', async () => {
    const server = await serve();
    const { pool } = server.database;
    await Promise.all([...Array(8)].map(() => read(server)));
    // Waits, because a database connection may return to the pool shortly after the server has sent the response.
    await vi.waitFor(() => expect(pool.idleCount).toBe(pool.totalCount), patience);
    const idle = pool.idleCount;
    expect(idle).toBeGreaterThan(1);
    const lost: Error[] = [];
    pool.on('error', error => lost.push(error));
    expect(await terminateAll()).toBeGreaterThanOrEqual(idle);
    await vi.waitFor(() => expect(lost).toHaveLength(idle), patience);
    expect(pool.totalCount).toBe(0);
    expect(await read(server)).toMatchObject({ status: 200, body: { id: ideaId } });
  });

  test('requests get 503 and write nothing if PostgreSQL ends their database connections, and later requests work', async () => {
    const server = await serve(db.url, { statementTimeoutMs: 10_000 });
    await outside.query('begin');
    await outside.query('lock table followers in exclusive mode');
    const creating = [...Array(poolSize)].map((_, n) => create(server, `Lost ${n}`));
    await waitForLockWaits(watcher, poolSize);
    expect(await terminateAll()).toBeGreaterThanOrEqual(poolSize);
    for (const answer of await Promise.all(creating)) expectUnavailable(answer);
    await outside.query('rollback');

    expect((await outside.query(`select from ideas where title like 'Lost%'`)).rows).toEqual([]);
    const answers = await Promise.all([...Array(2 * poolSize)].map((_, n) => create(server, `Kept ${n}`)));
    expect(answers.map(({ status }) => status)).toEqual(Array(2 * poolSize).fill(201));
    const { pool } = server.database;
    await vi.waitFor(() => expect(pool.idleCount).toBe(pool.totalCount), patience);
  });

  test('a vote gets 503 and does not change the tally if PostgreSQL ends its database connection while the vote waits for a lock', async () => {
    const server = await serve(db.url, { statementTimeoutMs: 10_000 });
    await outside.query('begin');
    await outside.query('select from ideas where id = $1 for update', [ideaId]);
    const voting = vote(server, 'up');
    await waitForLockWaits(watcher, 1);
    await terminateAll();
    expectUnavailable(await voting);
    await outside.query('rollback');
    // PostgreSQL also ended the connections of `db`, so the test reads through the connection `outside`, which is still
    // open.
    expect((await outside.query('select from votes where idea_id = $1', [ideaId])).rows).toEqual([]);
    expect(await vote(server, 'up')).toMatchObject({ status: 200, body: { up_count: 1 } });
    expect(await vote(server, 'none')).toMatchObject({ status: 200, body: { up_count: 0 } });
  });
});

describe('a statement that runs too long', () => {
  test('if an SQL statement runs too long, PostgreSQL cancels the statement, the request gets 503 with Retry-After, and the connection pool stays usable', async () => {
    const server = await serve();
    await outside.query('begin');
    await outside.query('select from ideas where id = $1 for update', [ideaId]);
    // The pool has fewer connections than there are requests. So each failed request must return its connection to the
    // pool.
    const answers = await Promise.all([...Array(6)].map((_, n) => (n % 2 ? vote(server, 'up') : vote(server, 'down'))));
    for (const answer of answers) expectUnavailable(answer);
    await outside.query('rollback');
    expect(await db.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);

    const reads = await Promise.all([...Array(12)].map(() => read(server)));
    expect(reads.map(({ status }) => status)).toEqual(Array(12).fill(200));
    expect(await vote(server, 'up')).toMatchObject({ status: 200, body: { up_count: 1, down_count: 0 } });
    expect(await vote(server, 'none')).toMatchObject({ status: 200 });
    expect(server.database.pool.waitingCount).toBe(0);
  });

  test('if an SQL statement in a transaction runs too long, the request that needed the statement gets 503, and the transaction is rolled back', async () => {
    const server = await serve();
    await outside.query('begin');
    await outside.query('lock table followers in exclusive mode');
    expectUnavailable(await create(server, 'Too slow'));
    await outside.query('rollback');
    expect(await db.sql(`select from ideas where title = 'Too slow'`)).toEqual([]);
    expect(await create(server, 'In time')).toMatchObject({ status: 201 });
  });
});

describe('an unavailable database', () => {
  async function proxied(options: Partial<DatabaseOptions> = {}): Promise<[TcpProxy, TestServer]> {
    const proxy = await startProxy(db.url);
    const server = await serve(proxy.url, options);
    onTestFinished(() => proxy.close());
    return [proxy, server];
  }

  test('requests get 503 within the database timeouts while the database does not answer, and work again when the database answers', async () => {
    const [proxy, server] = await proxied();
    await Promise.all([...Array(4)].map(() => read(server)));
    proxy.silence();
    const silent = await Promise.all(
      [read(server), vote(server, 'up'), create(server, 'Into the silence'), read(server)].map(timed),
    );
    for (const [answer, ms] of silent) {
      expectUnavailable(answer);
      expect(ms).toBeLessThan(connectTimeoutMs + readTimeoutMs + slackMs);
    }
    // The server has closed the connections that timed out. So these requests must open new connections to the silent
    // database.
    for (const [answer, ms] of await Promise.all([read(server), vote(server, 'up')].map(timed))) {
      expectUnavailable(answer);
      expect(ms).toBeLessThan(connectTimeoutMs + slackMs);
    }
    proxy.resume();
    expect(await read(server)).toMatchObject({ status: 200, body: { id: ideaId, up_count: 0 } });
    expect(await vote(server, 'up')).toMatchObject({ status: 200, body: { up_count: 1 } });
    expect(await vote(server, 'none')).toMatchObject({ status: 200 });
    expect(await db.sql(`select from ideas where title = 'Into the silence'`)).toEqual([]);
  });

  test('a request gets 503 and writes nothing if the database stops answering during its transaction', async () => {
    const [proxy, server] = await proxied({ statementTimeoutMs: 2500 });
    const { pool } = server.database;
    await read(server);
    const opened = pool.totalCount;
    await outside.query('begin');
    await outside.query('lock table followers in exclusive mode');
    const creating = create(server, 'Half written');
    await waitForLockWaits(watcher, 1);
    proxy.silence();
    expectUnavailable(await creating);
    // PostgreSQL may still send a result on the connection of the failed request, so the pool must not reuse this
    // connection.
    expect(pool.totalCount).toBe(opened - 1);
    await outside.query('rollback');
    proxy.resume();
    expect(await create(server, 'Written')).toMatchObject({ status: 201 });
    expect(await db.sql(`select from ideas where title = 'Half written'`)).toEqual([]);
  });

  test('requests get 503 without waiting for the connect timeout while the database refuses connections, and work again when it accepts connections', async () => {
    // The connect timeout is very long. So a fast response shows that the server did not wait for this timeout, but
    // noticed the refused connection.
    const [proxy, server] = await proxied({ connectTimeoutMs: 60_000 });
    await read(server);
    proxy.sever();
    await vi.waitFor(() => expect(server.database.pool.totalCount).toBe(0), patience);
    for (const [answer, ms] of await Promise.all([read(server), vote(server, 'up')].map(timed))) {
      expectUnavailable(answer);
      expect(ms).toBeLessThan(slackMs);
    }
    proxy.restore();
    expect(await read(server)).toMatchObject({ status: 200, body: { up_count: 0 } });
  });
});

describe('a transaction', () => {
  test('a transaction that fails to begin returns its connection to the pool', async () => {
    const proxy = await startProxy(db.url);
    onTestFinished(() => proxy.close());
    const database = await open(proxy.url, { poolSize: 2 });
    const nothing = () => database.transaction(async () => 'done');
    await Promise.all([nothing(), nothing()]);
    proxy.silence();
    const lost = await Promise.allSettled([nothing(), nothing()]);
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    proxy.resume();
    expect(await Promise.all([...Array(5)].map(nothing))).toEqual(Array(5).fill('done'));
    await expect.poll(() => database.pool.totalCount - database.pool.idleCount).toBe(0);
  });

  const renameTag = query('test_rename_tag', (db, $: Arguments<{ tagId: number; name: string }>) =>
    db.updateTable('tags').set({ name: $.name }).where('id', '=', $.tagId),
  );

  test('if PostgreSQL cancels one of two transactions to break a deadlock, the canceled transaction runs again, and both transactions succeed', async () => {
    // By default, PostgreSQL looks for a deadlock after a second.
    const database = await open(db.url, { statementTimeoutMs: 10_000 });
    const tags = [
      await createTag(db, world.accountId, world.boardId),
      await createTag(db, world.accountId, world.boardId),
    ];
    let runs = 0;
    let reached = 0;
    const both = Promise.withResolvers<void>();
    const rename = (first: number, second: number, name: string) =>
      database.transaction(async transaction => {
        runs++;
        await transaction.query(renameTag, { tagId: tags[first] ?? 0, name: `${name} ${first}` });
        // Each transaction locks its first row, and waits until the other transaction has locked its first row. Then
        // each transaction tries to lock the row of the other transaction, which is a deadlock.
        if (++reached === 2) both.resolve();
        await both.promise;
        await transaction.query(renameTag, { tagId: tags[second] ?? 0, name: `${name} ${second}` });
      });
    await Promise.all([rename(0, 1, 'A'), rename(1, 0, 'B')]);
    // The server repeats the transaction that PostgreSQL canceled. A repeated transaction may cause another deadlock
    // and be canceled again. So the number of runs may be greater than three.
    expect(runs).toBeGreaterThanOrEqual(3);
    const rows = await db.sql<{ name: string }>('select name from tags where id = any($1) order by id', [tags]);
    // The transaction that was canceled commits last, so both tags have the name that this transaction sets.
    expect([
      ['A 0', 'A 1'],
      ['B 0', 'B 1'],
    ]).toContainEqual(rows.map(({ name }) => name));
  });

  test('a transaction that PostgreSQL has canceled ten times because of deadlocks fails with the error of PostgreSQL', async () => {
    const database = await open();
    let runs = 0;
    const failing = database.transaction(async transaction => {
      runs++;
      await transaction.query(queryOfText(`do $$ begin raise sqlstate '40P01'; end $$`, 0), []);
    });
    await expect(failing).rejects.toMatchObject({ code: '40P01' });
    expect(runs).toBe(10);
  });

  test('a failed transaction rolls back the changes made through entities and by SQL statements, and returns its connection to the pool', async () => {
    const database = await open(db.url, { poolSize: 2 });
    const tagId = await createTag(db, world.accountId, world.boardId, 'Before');
    for (let n = 0; n < 5; n++) {
      const failing = database.transaction(async transaction => {
        transaction.em.create(Tag, {
          accountId: world.accountId,
          boardId: world.boardId,
          name: 'Of an entity',
          color: '#000000',
        });
        await transaction.em.flush();
        await transaction.query(renameTag, { tagId, name: 'After' });
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
    }
    const rows = await db.sql<{ name: string }>(`select name from tags where id = $1 or name = 'Of an entity'`, [
      tagId,
    ]);
    expect(rows).toEqual([{ name: 'Before' }]);
    await expect.poll(() => database.pool.totalCount - database.pool.idleCount).toBe(0);
  });

  test('every kind of query in a transaction sees the changes that the entity manager made in the same transaction', async () => {
    const database = await open();
    const select = query('test_select_tags', (db, $: Arguments<{ name: string }>) =>
      db.selectFrom('tags').select('name').where('name', '=', $.name),
    );
    const shown = await database.transaction(async transaction => {
      const { em, db } = transaction;
      const tag = em.create(Tag, {
        accountId: world.accountId,
        boardId: world.boardId,
        name: 'Once',
        color: '#000000',
      });
      const prepared = await transaction.query(select, { name: 'Once' });
      tag.name = 'Renamed';
      const built = await db.selectFrom('tags').select('name').where('name', '=', 'Renamed').execute();
      return { prepared, built };
    });
    expect(shown).toEqual({ prepared: [{ name: 'Once' }], built: [{ name: 'Renamed' }] });
  });

  test('a transaction can change and remove MikroORM entities that it has created itself', async () => {
    const database = await open();
    const names = await database.transaction(async ({ em, db }) => {
      const tags = ['One', 'Another'].map(name =>
        em.create(Tag, { accountId: world.accountId, boardId: world.boardId, name, color: '#000000' }),
      );
      await em.flush();
      const read = async () => {
        const ids = tags.map(({ id }) => id);
        const rows = await db.selectFrom('tags').select('name').where('id', 'in', ids).orderBy('id').execute();
        return rows.map(({ name }) => name);
      };
      const created = await read();
      for (const tag of tags) tag.name += ', changed';
      const changed = await read();
      for (const tag of tags) em.remove(tag);
      return [created, changed, await read()];
    });
    expect(names).toEqual([['One', 'Another'], ['One, changed', 'Another, changed'], []]);
  });
});

test('database.close() waits for a running query and then ends all connections of the connection pool', async () => {
  const logger = pino({ level: 'silent' });
  const database = await openDatabase({ url: db.url, poolSize: 2, connectTimeoutMs, statementTimeoutMs, logger });
  const slow = database.query(queryOfText<{ done: string }>(`select 'yes' as done from pg_sleep(0.1)`, 0), []);
  await once(database.pool, 'acquire');
  await database.close();
  expect(await slow).toEqual([{ done: 'yes' }]);
  expect(database.pool.totalCount).toBe(0);
});
