import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../server/database/database.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';

test('times and cursors in API responses do not depend on the time zone and date style of the database', async () => {
  const db = await createTestDatabase();
  onTestFinished(() => db.drop());
  const world = await createWorld(db);
  const ideaId = await insertIdea(db, world, { createdAt: new Date('2026-03-14T09:26:53.589Z') });
  await insertIdea(db, world, { createdAt: new Date('2026-03-15T00:00:00Z') });
  const { token } = await issueToken(db, world, 'write');
  for (const setting of [`timezone = 'Asia/Kolkata'`, `datestyle = 'SQL, DMY'`]) {
    await db.sql(
      `do $$ begin execute format('alter database %I set ', current_database()) || $q$${setting}$q$; end $$`,
    );
  }
  const database = await openDatabase({
    url: db.url,
    poolSize: 2,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 10_000,
    logger: { warn: () => {} },
  });
  onTestFinished(() => database.close());
  const server = await startServerForTest({ on: { ...db, database } });

  const first = await request(server, 'GET /api/v1/ideas?per_page=1', { token });
  expect(first.body.data[0].created_at).toBe('2026-03-15T00:00:00.000Z');
  const second = await request(server, `GET /api/v1/ideas?per_page=1&cursor=${first.body.next_cursor}`, { token });
  expect(second.body.data).toMatchObject([{ id: ideaId, created_at: '2026-03-14T09:26:53.589Z' }]);
  const created = await request(server, 'POST /api/v1/ideas', { token, json: { title: 'Now', body: 'Or never.' } });
  expect(Math.abs(Date.parse(created.body.created_at) - Date.now())).toBeLessThan(60_000);
});
