import { sql as fragment } from 'kysely';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/database.ts';
import { requireUsableUrls } from '../../server/database/pooler.ts';
import { explainFailure } from '../../server/start-failure.ts';
import { createBareDatabase, createDatabaseForFile, sqlOn } from '../helpers/database.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { findPgBouncer, type PgBouncerProgram, startPgBouncerForTest } from '../helpers/pgbouncer.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';
import { addWebhook } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

const program = findPgBouncer();
const hasPreparedStatements = program !== undefined && program.version >= 121;
if (program && !hasPreparedStatements) {
  console.warn('PgBouncer is older than 1.21: the test of a server behind it is skipped. Set PGBOUNCER_PATH.');
}
const db = await createDatabaseForFile();

const shown = (name: string) => fragment<string>`current_setting(${fragment.lit(name)})`.as(name);

async function check(url: string, directUrl?: string): Promise<{ failure: string | undefined; warnings: string[] }> {
  const warnings: string[] = [];
  const failure = await requireUsableUrls({ url, directUrl }, 5_000, problem => warnings.push(problem)).catch(
    error => error,
  );
  return { failure: explainFailure(failure), warnings };
}

test('the server accepts a DATABASE_URL that leads to PostgreSQL itself', async () => {
  expect(await check(db.url)).toEqual({ failure: undefined, warnings: [] });
});

test('the server refuses to start if DATABASE_URL and DATABASE_DIRECT_URL lead to different databases', async () => {
  const other = await createBareDatabase();
  onTestFinished(() => other.drop());
  expect((await check(db.url, other.url)).failure).toContain('lead to different databases');
});

test('if DATABASE_URL leads to a pooler whose connections have no statement_timeout, the server warns and names the PgBouncer setting connect_query', async () => {
  const { failure, warnings } = await check(db.url, db.url);
  expect({ failure, warnings }).toEqual({ failure: undefined, warnings: [expect.stringContaining('connect_query')] });
});

test.runIf(program)(
  'the server refuses PgBouncer in transaction mode without a DATABASE_DIRECT_URL that leads to PostgreSQL itself',
  async () => {
    const pooled = await startPgBouncerForTest(program as PgBouncerProgram, db.url);
    expect((await check(pooled)).failure).toMatch(
      /DATABASE_URL leads to a connection pooler.* Set DATABASE_DIRECT_URL/,
    );
    expect((await check(pooled, pooled)).failure).toContain('DATABASE_DIRECT_URL leads to a connection pooler');
  },
);

test.runIf(program)(
  'the server refuses a PgBouncer without support for prepared statements, and the error names max_prepared_statements',
  async () => {
    const off: Record<string, number> = hasPreparedStatements ? { max_prepared_statements: 0 } : {};
    const pooled = await startPgBouncerForTest(program as PgBouncerProgram, db.url, off);
    expect((await check(pooled, db.url)).failure).toMatch(
      /^Idea-Board cannot start: The connection pooler at DATABASE_URL.*PgBouncer 1\.21 or newer with max_prepared_statements/,
    );
  },
);

test.runIf(hasPreparedStatements)(
  'a server behind PgBouncer in transaction mode serves concurrent requests, delivers webhooks and answers requests that wait for events',
  async () => {
    const pooled = await startPgBouncerForTest(program as PgBouncerProgram, db.url, { max_prepared_statements: 100 });
    expect(await check(pooled, db.url)).toEqual({ failure: undefined, warnings: [] });
    const limits = { connectTimeoutMs: 5_000, statementTimeoutMs: 9_000, lockTimeoutMs: 900 };
    const options = { url: pooled, directUrl: db.url, poolSize: 8, ...limits, logger: pino({ level: 'silent' }) };
    const database = await openDatabase(options);
    onTestFinished(() => database.close());
    const on = { ...db, database, sql: sqlOn(database) };
    const world = await createWorld(on);
    const { token } = await issueToken(on, world, 'write');
    const server = await startServerForTest({ on });
    const receiver = await startReceiverForTest();
    await addWebhook(on, world, { url: receiver.url });
    // The job queue uses the direct URL, as in run-server.ts.
    await startWorkerForTest({ ...on, url: db.url });
    const { body: start } = await request(server, 'GET /api/v1/events?after=now', { token });
    const waiting = request(server, `GET /api/v1/events?after=${start.next_cursor}&wait=20`, { token });

    const ids = await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        const json = { title: `Idea ${index}`, body: 'From many connections.' };
        const headers = { 'idempotency-key': `key-${index}` };
        const { status, body } = await request(server, 'POST /api/v1/ideas', { token, json, headers });
        expect(status).toBe(201);
        const voted = await request(server, `POST /api/v1/ideas/${body.id}/vote`, { token, json: { value: 'up' } });
        expect(voted.status).toBe(200);
        return body.id as number;
      }),
    );
    const { body: list } = await request(server, 'GET /api/v1/ideas?per_page=100', { token });
    expect(list.data.map((idea: { id: number }) => idea.id).toSorted()).toEqual(ids.toSorted());
    expect((await waiting).body.data.length).toBeGreaterThan(0);
    await receiver.waitForRequests(24);
    // The time limits of the server apply inside its transactions, and not on the connections of PgBouncer outside a
    // transaction.
    const inside = await database.transaction(({ db: inTransaction }) =>
      inTransaction.selectNoFrom([shown('statement_timeout'), shown('lock_timeout')]).executeTakeFirst(),
    );
    expect(inside).toEqual({ statement_timeout: '9s', lock_timeout: '900ms' });
    expect(await on.sql('show lock_timeout')).toEqual([{ lock_timeout: '0' }]);
  },
);
