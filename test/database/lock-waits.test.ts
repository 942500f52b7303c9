import { pino } from 'pino';
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { openDatabase } from '../../server/database/database.ts';
import { openDependencies } from '../../server/open-dependencies.ts';
import { connect, createTestDatabase } from '../helpers/database.ts';
import { createBoard, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { countLockWaits, waitForLockWaits } from '../helpers/lock-waits.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForTest, type TestServer } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const poolSize = 8;

let world: World;
let token: string;
let ideaIds: number[];
/**
 * A token that can read only the second board. Locks on ideas of the first board do not affect reads with this token.
 */
let reader: string;

const db = await createTestDatabase();
/** The connection `holder` locks ideas. The connection `watcher` counts the SQL statements that wait for a lock. */
const holder = await connect(db.url);
const watcher = await connect(db.url);
beforeEach(async () => {
  world = await createWorld(db);
  ({ token } = await issueToken(db, world, 'moderate'));
  ideaIds = [];
  for (let n = 0; n < 8; n++) ideaIds.push(await insertIdea(db, world, { title: `Idea ${n}` }));
  const { id: boardId } = await createBoard(db, world.accountId);
  ({ token: reader } = await issueToken(db, { ...world, boardId }, 'read'));
});
afterEach(() => holder.query('rollback'));
afterAll(async () => {
  await holder.end();
  await watcher.end();
  await db.drop();
});

async function serve(lockTimeoutMs: number): Promise<TestServer> {
  const database = await openDatabase({
    url: db.url,
    poolSize,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 100_000,
    lockTimeoutMs,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => database.close());
  return startServerForTest({ on: { ...db, database } });
}

const patient = () => serve(60_000);
const impatient = () => serve(100);

async function lock(ids: number[]) {
  await holder.query('begin');
  await holder.query('select from ideas where id = any($1) order by id for no key update', [ids]);
}

const post = (server: TestServer, path: string, json?: unknown) =>
  request(server, `POST /api/v1/ideas/${path}`, { token, json });
const vote = (server: TestServer, id: number | undefined) => post(server, `${id}/vote`, { value: 'up' });

/**
 * Expects that requests to read the second board succeed while exactly `waiting` database connections wait for a lock.
 */
async function expectOthersServed(server: TestServer, waiting: number) {
  await waitForLockWaits(watcher, waiting);
  for (let round = 0; round < 3; round++) {
    const reads = await Promise.all(
      Array.from({ length: 20 }, () => request(server, 'GET /api/v1/ideas', { token: reader })),
    );
    expect(reads.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await countLockWaits(watcher)).toBe(waiting);
  }
  expect(server.database.pool.waitingCount).toBe(0);
}

function expectUnavailable(answer: Answer) {
  expect([answer.status, answer.key, answer.headers.get('retry-after')]).toEqual([503, 'service_unavailable', '1']);
}

test('votes that wait for a locked idea use at most a quarter of the connection pool, other boards are readable, and every vote is counted', async () => {
  const server = await patient();
  const tokens = await Promise.all(Array.from({ length: 20 }, () => issueToken(db, world, 'write')));
  const [ideaId = 0] = ideaIds;
  await lock([ideaId]);
  const votes = tokens.map(one =>
    request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token: one.token, json: { value: 'up' } }),
  );
  await expectOthersServed(server, poolSize / 4);
  await holder.query('rollback');
  expect((await Promise.all(votes)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(await db.sql('select up_count from ideas where id = $1', [ideaId])).toEqual([{ up_count: 20 }]);
});

test('writes that wait for several locked ideas use at most half of the connection pool', async () => {
  const server = await patient();
  await lock(ideaIds);
  const writes = ideaIds.flatMap(id => [
    vote(server, id),
    post(server, `${id}/status`, { status: 'planned' }),
    post(server, `${id}/comments`, { body: 'Still waiting.' }),
  ]);
  await expectOthersServed(server, poolSize / 2);
  await holder.query('rollback');
  expect((await Promise.all(writes)).every(({ status }) => status < 300)).toBe(true);
});

test('unmerges that wait for one locked target idea use at most a quarter of the connection pool', async () => {
  const server = await patient();
  const [target = 0, ...sources] = ideaIds;
  for (const id of sources) expect((await post(server, `${id}/merge`, { target_id: target })).status).toBe(200);
  await lock([target]);
  const unmerges = sources.map(id => post(server, `${id}/unmerge`));
  await expectOthersServed(server, poolSize / 4);
  await holder.query('rollback');
  expect((await Promise.all(unmerges)).map(({ status }) => status)).toEqual(sources.map(() => 200));
});

test('a write that waits too long for the lock on an idea gets 503 with Retry-After and writes nothing', async () => {
  const server = await impatient();
  const [ideaId = 0, otherId = 0] = ideaIds;
  const writes = () => [
    ...Array.from({ length: 20 }, () => vote(server, ideaId)),
    post(server, `${ideaId}/comments`, { body: 'Too late.' }),
    post(server, `${ideaId}/status`, { status: 'planned' }),
    post(server, `${ideaId}/merge`, { target_id: otherId }),
    post(server, `${otherId}/merge`, { target_id: ideaId }),
  ];
  const before = await snapshot(db);
  await lock([ideaId]);
  for (const answer of await Promise.all(writes())) expectUnavailable(answer);
  await holder.query('rollback');
  expect(await snapshot(db)).toEqual(before);
  await expect.poll(() => server.database.pool.totalCount - server.database.pool.idleCount).toBe(0);
  expect(server.logLines.some(line => line.includes('"level":50'))).toBe(false);
  expect((await vote(server, ideaId)).status).toBe(200);
});

test('an MCP tool call that waits too long for the lock on an idea gets 503', async () => {
  const server = await impatient();
  const call = () =>
    request(server, 'POST /api/v1/mcp', {
      token,
      json: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'vote_idea', arguments: { id: ideaIds[0], value: 'up' } },
      },
    });
  await lock(ideaIds);
  const answer = await call();
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  await holder.query('rollback');
  expect((await call()).body.result.structuredContent).toMatchObject({ up_count: 1 });
});

test('the database connections of a server have a lock_timeout of one second', async () => {
  const config = loadConfig({ APP_KEY: Buffer.alloc(32, 7).toString('base64'), AUDIT_LOG: 'stdout' });
  const { server, close } = await openDependencies(db.url, config, pino({ level: 'silent' }));
  onTestFinished(close);
  expect((await server.database.pool.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '1s' }]);
});
