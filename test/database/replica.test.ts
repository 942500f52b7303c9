import { pino } from 'pino';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../server/database/database.ts';
import { migrate } from '../../server/database/migrator.ts';
import { requireUsableUrls } from '../../server/database/pooler.ts';
import { buildMetrics } from '../../server/observability/metrics.ts';
import { explainFailure } from '../../server/start-failure.ts';
import { createBareDatabase, sqlOn, type TestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';
import { ask, startPair } from '../helpers/standby.ts';

const maxLagMs = 1_000;
/** With these settings, a token reads from the primary for 1.7 seconds after a write. */
const environment = { DATABASE_READ_MAX_LAG_MS: String(maxLagMs), DATABASE_STATEMENT_TIMEOUT_MS: '700' };

const pair = await startPair(url => migrate(url).then(() => {}));
const { primary, standby } = pair;
const warnings: string[] = [];
const db = await open(standby.url);
const world = await createWorld(db, { isPublic: true });
const ideaId = await insertIdea(db, world);
const { token: writer } = await issueToken(db, world, 'write');
const { token: reader } = await issueToken(db, world, 'read');
const server = await startServer({ on: db, environment: { ...environment, ...urlsOf(standby.url) } });
// The second server learns only from the database that a token wrote through the first server.
const second = await open(standby.url);
const other = await startServer({ on: second, environment: { ...environment, ...urlsOf(standby.url) } });
afterAll(async () => {
  await server.close();
  await other.close();
  await Promise.all([db.database.close(), second.database.close()]);
  await pair.close();
});

function urlsOf(readUrl: string) {
  return { DATABASE_URL: primary.url, DATABASE_READ_URL: readUrl };
}

async function open(readUrl: string): Promise<TestDatabase & { database: Database }> {
  const database = await openDatabase({
    url: primary.url,
    read: { url: readUrl, maxLagMs },
    poolSize: 4,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 10_000,
    logger: Object.assign(pino({ level: 'silent' }), { warn: (text: string) => warnings.push(text) }),
  });
  return { url: primary.url, database, sql: sqlOn(database), drop: async () => {} };
}

type On = Parameters<typeof request>[0];

const list = async (token: string, on: On = server) => {
  const { status, body } = await request(on, 'GET /api/v1/ideas?per_page=100', { token });
  expect(status).toBe(200);
  return body.data.map(({ title }: { title: string }) => title) as string[];
};
const create = (title: string) =>
  request(server, 'POST /api/v1/ideas', { token: writer, json: { title, body: 'Written on the primary.' } });

const state = () => db.database.replica?.state() ?? { isUsed: false, lagMs: 0 };
const isUsed = (expected: boolean) => expect.poll(() => state().isUsed, { timeout: 20_000 }).toBe(expected);

/** Lists the last statements of the server's connections to a PostgreSQL. */
const statementsOn = async (url: string) => {
  const rows = await ask<{ query: string }>(
    url,
    `select query from pg_stat_activity where application_name = 'idea-board'`,
  );
  return rows.map(({ query }) => query).join('\n');
};

/** Runs work while the standby replays no changes, so its data gets older. */
async function whilePaused(work: () => Promise<void>) {
  await ask(standby.url, 'select pg_wal_replay_pause()');
  try {
    await work();
  } finally {
    await ask(standby.url, 'select pg_wal_replay_resume()');
  }
}

test('the server reads lists and public pages from the replica, with the same content and the same ETag as from the primary', async () => {
  const path = `GET /b/${world.boardSlug}`;
  const before = await request(server, path);
  const listBefore = await request(server, 'GET /api/v1/ideas', { token: reader });
  await isUsed(true);
  const after = await request(server, path);
  const listAfter = await request(server, 'GET /api/v1/ideas', { token: reader });
  expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
  expect(listAfter.headers.get('etag')).toBe(listBefore.headers.get('etag'));
  expect(listAfter.body).toEqual(listBefore.body);
  expect(await statementsOn(standby.url)).toContain('"i"."title"');
  const { text } = await buildMetrics().write(db.database);
  expect(text).toMatch(/^idea_board_database_replica_away 0$/m);
  expect(text).toMatch(/^idea_board_database_replica_lag_seconds 0\.\d+$/m);
});

test('after a write by a token, the lists that the token requests come from the primary and show the write, also on another server', async () => {
  await isUsed(true);
  await list(reader, other);
  await expect.poll(() => second.database.replica?.state().isUsed, { timeout: 20_000 }).toBe(true);
  await whilePaused(async () => {
    expect((await create('My own idea')).status).toBe(201);
    expect(await list(writer)).toContain('My own idea');
    expect(await list(writer, other)).toContain('My own idea');
    const { body } = await request(server, `GET /api/v1/ideas/${ideaId}`, { token: reader });
    expect(body.id).toBe(ideaId);
  });
});

test('after a token gets the current cursor of the events, its lists come from the primary and show every idea that the events after the cursor do not report', async () => {
  await isUsed(true);
  await list(reader, other);
  await expect.poll(() => second.database.replica?.state().isUsed, { timeout: 20_000 }).toBe(true);
  const { token: copier } = await issueToken(db, world, 'read');
  await whilePaused(async () => {
    expect((await create('Older than the cursor')).status).toBe(201);
    const { status, body } = await request(server, 'GET /api/v1/events?after=now', { token: copier });
    expect(status).toBe(200);
    expect(await list(copier, other)).toContain('Older than the cursor');
    const later = await request(server, `GET /api/v1/events?after=${body.next_cursor}`, { token: copier });
    expect(later.body.data).toEqual([]);
  });
});

test('the server does not read from a replica that is too far behind the primary until the replica has caught up', async () => {
  await list(reader);
  await isUsed(true);
  await whilePaused(async () => {
    await create('Far ahead of the replica');
    await isUsed(false);
    expect(await list(reader)).toContain('Far ahead of the replica');
    await expect.poll(() => warnings.at(-1), { timeout: 10_000 }).toContain('behind');
  });
  await isUsed(true);
  expect(await list(reader)).toContain('Far ahead of the replica');
});

test('while the replica is stopped, every read succeeds on the primary, and the server uses the replica again after its restart', async () => {
  await isUsed(true);
  let isOver = false;
  let reads = 0;
  const reading = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isOver) {
        await list(reader);
        reads++;
      }
    }),
  );
  await standby.stop();
  await isUsed(false);
  const readsWhileAway = reads;
  await expect.poll(() => reads).toBeGreaterThan(readsWhileAway + 8);
  isOver = true;
  await reading;
  await standby.start();
  await isUsed(true);
});

test('the server refuses to start if DATABASE_READ_URL leads to another database, but starts if the replica does not answer', async () => {
  const check = (readUrl: string) =>
    requireUsableUrls({ url: primary.url, readUrl }, 2_000, problem => warnings.push(problem)).catch(error => error);
  const elsewhere = await createBareDatabase();
  onTestFinished(() => elsewhere.drop());
  expect(explainFailure(await check(elsewhere.url))).toContain('DATABASE_READ_URL lead to different databases');
  expect(await check(standby.url.replace('5433', '5999'))).toBe(undefined);
  expect(warnings.at(-1)).toContain('does not answer');
});

test('the server does not read from a standby that was promoted to a primary', async () => {
  await isUsed(true);
  await ask(standby.url, 'select pg_promote(true)');
  await isUsed(false);
  await create('Only on the primary');
  expect(await list(reader)).toContain('Only on the primary');
  await expect.poll(() => warnings.at(-1), { timeout: 10_000 }).toContain('no standby');
});
