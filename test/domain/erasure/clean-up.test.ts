import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eraseAccount } from '../../../server/domain/erasure/erase-account.ts';
import { eraseUser } from '../../../server/domain/erasure/erase-user.ts';
import { requirePlaceholder } from '../../../server/domain/erasure/placeholder.ts';
import { compileCache } from '../../helpers/compile-cache.ts';
import { connect, createTestDatabase, type TestDatabase } from '../../helpers/database.ts';
import { expectInvariants } from '../../helpers/invariants.ts';
import { programFor } from '../../helpers/programs.ts';
import { startServer } from '../../helpers/server.ts';
import { logStatements } from '../../helpers/statement-log.ts';
import { dump, linesWith } from './dump.ts';
import { failAfter } from './failing-database.ts';
import { marker, populate, requestDeletion, scheduleDeletion } from './populate.ts';
import { runCleanUp } from './run.ts';

const now = new Date();
const options = { now, batchSize: 2 };
/**
 * The content of the database after a clean-up without interruptions. A clean-up erases the accounts and users whose
 * deletion is due. Each test cleans up another copy of the same populated database, and compares the result with this
 * content.
 */
let expected: string[];
/** The texts of all SQL statements that ran during the clean-up without interruptions. */
let texts: Set<string>;
let source: string;
let accountId: number;
let userId: number;

beforeAll(async () => {
  const db = await createTestDatabase();
  const server = await startServer({ on: db, environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
  const { personId, other } = await populate(server);
  await requestDeletion(server, personId);
  accountId = other.accountId;
  userId = personId;
  await scheduleDeletion(server, other.accountId);
  await server.close();
  await db.database.close();
  source = new URL(db.url).pathname.slice(1);

  await onCopy(async copy => {
    const { result, statements } = await logStatements(() => runCleanUp(copy, options));
    expect(result).toMatchObject({ accounts: [{}], users: [{}], failed: [] });
    texts = new Set(
      statements.map(({ text }) => text).filter(text => /^(with|select|update|insert|delete)\b/i.test(text)),
    );
    expected = await dump(copy);
    expect(linesWith(expected, marker)).toEqual([]);
  });
});
afterAll(() => onCopy(copy => copy.sql(`drop database ${source}`)));

async function onCopy(work: (copy: TestDatabase) => Promise<unknown>) {
  const copy = await createTestDatabase(source);
  try {
    await work(copy);
  } finally {
    await copy.drop();
  }
}

test('an erasure that is killed after any number of SQL statements and then runs again leaves the same data as an uninterrupted erasure', async () => {
  await onCopy(async copy => {
    let isKilled = true;
    let runs = 0;
    while (isKilled) {
      const failing = failAfter(copy.database, ++runs);
      await runCleanUp({ database: failing.database }, options).catch(() => {});
      isKilled = failing.isKilled();
    }
    expect(runs).toBeGreaterThan(20);
    expect(await dump(copy)).toEqual(expected);
    await expectInvariants(copy);
  });
});

test('an erasure that is killed at random moments and then runs again leaves the same data as an uninterrupted erasure', async () => {
  // If the clean-up ended before the first kill, the loop repeats the test on a new copy of the database.
  let kills = 0;
  while (kills === 0) await onCopy(killAgainAndAgain);

  async function killAgainAndAgain(copy: TestDatabase) {
    let next = start(copy.url);
    for (;;) {
      const child = await next;
      // The next process loads its modules while the current process cleans up.
      next = start(copy.url);
      // Each process gets more time than the previous process, so that the clean-up ends even on a slow machine.
      const outcome = await workFor(child, 50 + Math.random() * 150 * (kills + 1) ** 2);
      if (outcome !== 'killed') {
        expect(outcome).toEqual({ isAlone: true, failures: 0 });
        break;
      }
      kills++;
      await lockIsFree(copy);
    }
    (await next).kill('SIGKILL');
    expect(await dump(copy)).toEqual(expected);
  }
});

test('if two processes start to erase users and accounts at the same time, only one erases, and the other reports that it did nothing', async () => {
  await onCopy(async copy => {
    // While the test holds this lock, the first clean-up cannot end before the second clean-up begins.
    const blocker = await connect(copy.url);
    await blocker.query('begin; select from accounts for update');
    const runs = [runCleanUp(copy, options), runCleanUp(copy, options)];
    expect(await Promise.race(runs)).toMatchObject({ isAlone: false });
    await blocker.end();
    const outcomes = await Promise.all(runs);
    expect(outcomes.filter(({ isAlone }) => isAlone)).toHaveLength(1);
    expect(outcomes.flatMap(({ failed }) => failed)).toEqual([]);
    expect(await dump(copy)).toEqual(expected);
  });
});

test('eight parallel calls of requirePlaceholder() create only one user as the placeholder for erased users', async () => {
  await onCopy(async copy => {
    const made = await Promise.all(Array.from({ length: 8 }, () => requirePlaceholder(copy.database, now)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(await copy.sql('select id from users where is_placeholder')).toHaveLength(1);
  });
});

test('parallel erasures of one account, or of one user, leave the same data as a single erasure', async () => {
  await onCopy(async copy => {
    // Creates the placeholder user first, the author of the content of erased users. Otherwise several parallel
    // erasures would try to insert this user, and each failed try would use up an id. The placeholder user would then
    // not have the expected id.
    await requirePlaceholder(copy.database, now);
    const due = { now, dueBefore: now, batchSize: 2, record: async () => {}, erasers: [] };
    const twice = <T>(erase: () => Promise<T>) => Promise.all([erase(), erase(), erase()]);
    const accounts = await twice(() => eraseAccount(copy.database, accountId, due));
    const users = await twice(() => eraseUser(copy.database, userId, due));
    // One of the three calls erases the account or the user. The other two calls find nothing to erase.
    for (const outcomes of [accounts, users]) expect(outcomes.filter(outcome => outcome !== undefined)).toHaveLength(1);
    expect(await dump(copy)).toEqual(expected);
  });
});

/**
 * Tables and indexes that an erasure may read completely, because they are small. The tables of the job queue are
 * nearly empty. The indexes contain only requested deletions, pending deliveries and the placeholder user (the author
 * of the content of erased users).
 */
const isSmall =
  /^_private_|^tasks_pkey$|^accounts_deletion_scheduled_at_idx$|^users_(deletion_requested_at_idx|placeholder_key)$|^webhook_deliveries_pending_idx$/;

test('every SQL statement of an erasure finds its rows through an index, except in a few tables and indexes that stay small', async () => {
  expect(texts.size).toBeGreaterThan(40);
  await onCopy(async copy => {
    const client = await connect(copy.url);
    // With this setting, PostgreSQL uses a suitable index even if the table has only a few rows.
    await client.query('set enable_seqscan = off');
    await client.query('set plan_cache_mode = force_generic_plan');
    const scans: string[] = [];
    for (const text of texts) {
      await client.query(`prepare statement as ${text}`);
      const parameters = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
      const values = parameters === 0 ? '' : `(${Array(parameters).fill('null').join()})`;
      const { rows } = await client.query(`explain (format json) execute statement${values}`);
      await client.query('deallocate statement');
      for (const read of readWhole(rows[0]['QUERY PLAN'])) if (!isSmall.test(read)) scans.push(`${read}: ${text}`);
    }
    await client.end();
    expect(scans).toEqual([]);
  });
});

const program = programFor('test/helpers/killable-clean-up.ts');

/** Starts a process that can run a clean-up. Returns the process after it has loaded all modules. */
async function start(databaseUrl: string): Promise<ChildProcess> {
  const child = fork(program, {
    execPath: process.execPath,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: compileCache,
      DATABASE_URL: databaseUrl,
      NOW: now.toISOString(),
    },
  });
  await once(child, 'message');
  return child;
}

/**
 * Lets the process clean up for the given time, and then kills it. Returns the outcome of the clean-up, or 'killed' if
 * the clean-up did not end in time.
 */
async function workFor(child: ChildProcess, milliseconds: number): Promise<unknown> {
  const begun = once(child, 'message');
  child.send('begin');
  await begun;
  const done = once(child, 'message').then(([outcome]) => outcome);
  const outcome = await Promise.race([done, delay(milliseconds, 'killed')]);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  return outcome;
}

/**
 * Waits until PostgreSQL has noticed the end of the killed process, and has released the lock of the killed clean-up.
 */
async function lockIsFree({ sql }: TestDatabase) {
  const locks = `select from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and d.datname = current_database()`;
  while ((await sql(locks)).length > 0) await delay(5);
}

/** Returns the tables and indexes that PostgreSQL reads completely in a query plan. */
function readWhole(plan: unknown): string[] {
  if (Array.isArray(plan)) return plan.flatMap(readWhole);
  if (typeof plan !== 'object' || plan === null) return [];
  const node = plan as Record<string, unknown>;
  const isIndexScan = /^(Index|Index Only|Bitmap Index) Scan$/.test(String(node['Node Type']));
  const whole = [
    ...(node['Node Type'] === 'Seq Scan' ? [String(node['Relation Name'])] : []),
    ...(isIndexScan && node['Index Cond'] === undefined ? [String(node['Index Name'])] : []),
  ];
  return [...whole, ...Object.values(node).flatMap(readWhole)];
}
