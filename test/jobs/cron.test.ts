import { parseCrontab } from 'graphile-worker';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import type { TaskDependencies } from '../../server/delivery/dependencies.ts';
import { clearExpired, clearOld, expiringTables } from '../../server/jobs/clear-expired.ts';
import { buildCrontab, buildTasks } from '../../server/jobs/tasks.ts';
import { extensionOf } from '../extensions/with-extensions.ts';
import { connect, createDatabaseForFile } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';

const db = await createDatabaseForFile();
const world = await createWorld(db);
const userId = world.ownerId;
const accountId = world.accountId;
const ideaId = await insertIdea(db, world);
const tokenId = (await issueToken(db, world, 'read')).id;

/**
 * For each table, builds an SQL statement that inserts one row for each number. The rows expire at `expiresAt`, an SQL
 * expression.
 */
const insert: Record<(typeof expiringTables)[number], (expiresAt: string) => string> = {
  rate_limits: expiresAt => `insert into rate_limits (key, window_started_at, expires_at, count)
    select 'ip:' || n, now(), ${expiresAt}, 1 from numbers`,
  idempotency_keys: expiresAt => `insert into idempotency_keys
    (account_id, token_id, path, key, fingerprint, status, body, expires_at)
    select ${accountId}, ${tokenId}, '/', 'key ' || n, '\\x00', 200, '{}', ${expiresAt} from numbers`,
  sessions: expiresAt => `insert into sessions (token_hash, user_id, created_at, expires_at)
    select sha256(n::text::bytea), ${userId}, now() - interval '1 day', ${expiresAt} from numbers`,
  sign_in_challenges: expiresAt => `insert into sign_in_challenges (token_hash, user_id, created_at, expires_at)
    select sha256(n::text::bytea), ${userId}, now() - interval '1 day', ${expiresAt} from numbers`,
  password_links: expiresAt => `insert into password_links (token_hash, user_id, created_at, expires_at)
    select sha256(n::text::bytea), ${userId}, now() - interval '1 day', ${expiresAt} from numbers`,
  sign_in_links: expiresAt => `insert into sign_in_links
    (token_hash, user_id, email, canonical_email, next, created_at, expires_at)
    select sha256(n::text::bytea), ${userId}, 'a@example.com', 'a@example.com', '/admin', now() - interval '1 day', ${expiresAt}
    from numbers`,
  invitations: expiresAt => `insert into invitations (account_id, email, role, delivery, created_at, expires_at)
    select ${accountId}, n || '@example.com', 'member', 'mailed', now() - interval '7 days', ${expiresAt} from numbers`,
  oauth_records: expiresAt => `insert into oauth_records (model, id_hash, payload, expires_at)
    select 'Session', sha256(n::text::bytea), '{}', ${expiresAt} from numbers`,
  used_embedding_tokens: expiresAt => `insert into used_embedding_tokens (account_id, token_hash, expires_at)
    select ${accountId}, sha256(n::text::bytea), ${expiresAt} from numbers`,
  vote_networks: expiresAt => `, v as (
      insert into voters (account_id) select ${accountId} from numbers returning id
    ), cast_votes as (
      insert into votes (account_id, idea_id, voter_id, value) select ${accountId}, ${ideaId}, id, 1 from v returning *
    )
    insert into vote_networks (account_id, idea_id, voter_id, network, expires_at)
    select account_id, idea_id, voter_id, decode(repeat('00', 16), 'hex'), ${expiresAt} from cast_votes`,
  event_waits: expiresAt => `insert into event_waits (account_id, token_id, slot, board_id, server_id, expires_at)
    select ${accountId}, ${tokenId}, n, 1, gen_random_uuid(), ${expiresAt} from numbers`,
  vote_followings: expiresAt => `, b as (
      insert into boards (account_id, slug, name) select ${accountId}, 'board-' || n, 'A board' from numbers returning *
    )
    insert into vote_followings (account_id, board_id, expires_at) select account_id, id, ${expiresAt} from b`,
  token_usage: expiresAt => `insert into token_usage
    (account_id, token_id, operation, request_count, parameters, fields, first_used_at, last_used_at, expires_at)
    select ${accountId}, ${tokenId}, 'GET /' || n, 1, '{}', '{}', now(), now(), ${expiresAt} from numbers`,
};

const add = (table: (typeof expiringTables)[number], from: number, to: number, expiresAt: string) =>
  db.sql(`with numbers as (select n from generate_series(${from}, ${to}) n) ${insert[table](expiresAt)}`);

const count = async (table: string) => (await db.sql(`select from ${table}`)).length;
const clear = (stopping = new AbortController().signal) => clearExpired(db.database, stopping);

describe('the clean-up of expired rows', () => {
  /** Tables whose expired rows the server keeps, each with the reason. */
  const kept: Record<string, string> = {
    api_tokens: 'an expired token stays in the list, and its votes still count',
  };

  test('the clean-up of expired rows covers every table with a column expires_at, except the exceptions listed in this test file', async () => {
    const tables = await db.sql<{ table_name: string }>(
      `select table_name from information_schema.columns
      where table_schema = 'public' and column_name = 'expires_at' order by 1`,
    );
    expect(tables.map(({ table_name }) => table_name)).toEqual([...expiringTables, ...Object.keys(kept)].sort());
  });

  test.each(expiringTables)(
    'the clean-up of expired rows deletes all expired rows of the table %s and keeps the other rows',
    async table => {
      await add(table, 1, 5_001, `now() - interval '1 second'`);
      await add(table, 6_000, 6_002, `now() + interval '1 minute'`);
      await clear();
      expect(await count(table)).toBe(3);
      await db.sql(`delete from ${table}`);
    },
  );

  test("the hourly clean-up deletes the stored IP network of a token's last use if the token was not used for 30 days", async () => {
    const use = `update api_tokens set last_used_network = '203.0.113.0/24', last_used_at = now() - $1::interval`;
    const networks = () => db.sql<{ network: string | null }>('select last_used_network as network from api_tokens');
    await db.sql(use, ['29 days 23 hours']);
    await clearOld(db.database, new AbortController().signal);
    expect(await networks()).toEqual([{ network: '203.0.113.0/24' }]);
    await db.sql(use, ['30 days 1 minute']);
    await clearOld(db.database, new AbortController().signal);
    expect(await networks()).toEqual([{ network: null }]);
  });

  test('the clean-up of expired rows skips rows that another transaction has locked', async () => {
    await add('rate_limits', 1, 3, `now() - interval '1 second'`);
    const requesting = await connect(db.url);
    await requesting.query('begin');
    await requesting.query(
      `update rate_limits set count = 2, expires_at = now() + interval '1 minute' where key = 'ip:2'`,
    );
    await clear();
    await requesting.query('commit');
    await requesting.end();
    expect(await db.sql('select key from rate_limits')).toEqual([{ key: 'ip:2' }]);
    await db.sql('delete from rate_limits');
  });

  test('the clean-up of expired rows deletes nothing if its abort signal is set before the start', async () => {
    await add('sessions', 1, 2, `now() - interval '1 second'`);
    await clear(AbortSignal.abort());
    expect(await count('sessions')).toBe(2);
    await clear();
    expect(await count('sessions')).toBe(0);
  });

  test('the clean-up of expired rows keeps OAuth records that have no expiry time', async () => {
    await add('oauth_records', 1, 1, 'null');
    await clear();
    expect(await count('oauth_records')).toBe(1);
  });
});

test('the worker has a handler for every task of the cron schedule, and the heartbeat task runs every minute', () => {
  const ticking = extensionOf({
    name: 'ticking',
    on: { 'idea.voted': async () => {} },
    tasks: { tick: async () => {} },
    cron: { tick: '5 4 * * 1' },
  });
  const extensions = [ticking];
  const items = parseCrontab(buildCrontab(extensions));
  const tasks = Object.keys(
    buildTasks({
      config: loadConfig({}),
      requests: { quickMs: 1_000 },
      database: db.database,
      extensions,
      logger: { child: () => {} },
    } as unknown as TaskDependencies),
  );
  expect(items.map(({ task }) => task)).toContain('ext:ticking:tick');
  for (const { task } of items) expect(tasks).toContain(task);
  const heartbeat = items.find(({ task }) => task === 'heartbeat');
  const minutes = [...Array(60).keys()].map(min => ({ min, hour: 0, date: 1, month: 1, dow: 0 }));
  expect(minutes.every(minute => heartbeat?.match(minute))).toBe(true);
  const summaries = items.filter(({ task }) => task === 'add_summaries');
  const sevenOn = (dow: number) => ({ min: 0, hour: 7, date: 1, month: 1, dow });
  expect(summaries.map(({ payload, match }) => [payload, [0, 1, 2].map(dow => match(sevenOn(dow)))])).toEqual([
    [{ frequency: 'daily' }, [true, true, true]],
    [{ frequency: 'weekly' }, [false, true, false]],
  ]);
});

test('the worker retries a failed job that adds summaries, because the next job comes a day or a week later', () => {
  const jobs = parseCrontab(buildCrontab([])).filter(({ task }) => task === 'add_summaries');
  // Without a limit of its own, a job has 25 tries.
  expect(jobs.map(({ options }) => options.maxAttempts)).toEqual([undefined, undefined]);
});
