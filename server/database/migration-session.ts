import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { MigrationError, type MigrationFile } from './migration-files.ts';
import { runOn } from './query.ts';
import { bigint, boolean, integer, nullable, sql, text, time } from './sql.ts';

/** Serializes migrating processes: whoever comes second waits, and then finds nothing left to do. */
const lockId = 4_216_839_001;

const pollMs = 100;

export interface LockOptions {
  /** How long another process may take: whoever started this one has given it up long before. */
  waitMs?: number | undefined;
  /** How long a wait is not worth speaking of. */
  noticeMs?: number | undefined;
  /** Told once, when the lock is waited for: who has it. */
  onWait?: ((holder: string) => void) | undefined;
}

/**
 * How long a migration may take is its own matter, whatever the role's settings are. A process whose machine is gone is
 * taken for dead after about 11 silent seconds, and its lock with it.
 */
const settings = `
  reset all;
  set statement_timeout = 0; set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0;
  set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3`;

/** A process that was killed is noticed in the middle of a statement. Not every platform of PostgreSQL can. */
const checkConnection = `set client_connection_check_interval = '1s'`;

/** Gives work a session of its own. */
export async function withSession<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'idea-board migrate', keepAlive: true });
  // The error of a connection that breaks reaches us through the query that it breaks.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Makes the session's settings what a migration may rely on, whatever an earlier one has left behind. */
export async function resetSession(client: pg.Client): Promise<void> {
  await client.query(settings);
  await client.query(checkConnection).catch(() => {});
}

const tryLock = sql(
  'try_lock_migrations',
  { arguments: { lockId: bigint() }, row: { is_locked: boolean() } },
  'select pg_try_advisory_lock($lockId) as is_locked',
);

/**
 * Makes the session the only one that migrates, until it ends. The lock is tried again and again: a session that waits
 * for it in PostgreSQL would keep a snapshot, and a create index concurrently of the one that has the lock would wait
 * for the end of that.
 */
export async function lockMigrations(client: pg.Client, options: LockOptions = {}): Promise<void> {
  const { waitMs = 600_000, noticeMs = 2_000, onWait } = options;
  const startedAt = performance.now();
  let isSpokenOf = false;
  for (;;) {
    const [lock] = await runOn(client, tryLock, { lockId });
    if (lock?.is_locked) return;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= waitMs) {
      const seconds = Math.round(waitMs / 1000);
      throw new MigrationError(
        `Another process has been migrating the database for more than ${seconds} s: ${await findHolder(client)}`,
      );
    }
    if (!isSpokenOf && waitedMs >= noticeMs) {
      isSpokenOf = true;
      onWait?.(await findHolder(client));
    }
    await delay(pollMs);
  }
}

const selectHolder = sql(
  'select_migration_lock_holder',
  {
    arguments: { lockId: bigint() },
    row: { pid: integer(), address: nullable(text()), started_at: time() },
  },
  `select a.pid, host(a.client_addr) as address, a.backend_start as started_at
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = $lockId::bigint::oid
    and l.database = (select oid from pg_database where datname = current_database())`,
);

async function findHolder(client: pg.Client): Promise<string> {
  const [holder] = await runOn(client, selectHolder, { lockId });
  if (!holder) return 'it is ending';
  const { pid, address, started_at } = holder;
  return `session ${pid} of ${address ?? 'this machine'}, since ${new Date(started_at).toISOString()}`;
}

export interface TableLockOptions {
  /** How long a statement waits for a table's lock. */
  lockTimeoutMs?: number | undefined;
  /** How often a migration is tried that did not get its locks. */
  tries?: number | undefined;
  /** How long what waits for the tables has, before the migration is in its way again. */
  pauseMs?: number | undefined;
}

/**
 * Requests that need a table wait behind a migration that waits for the table's lock. So a migration gives up before
 * such a request does, and tries again: 25 times, in a minute and a half.
 */
const defaults = { lockTimeoutMs: 500, tries: 25, pauseMs: 3_000 };

/** What PostgreSQL says of a lock that was not had in time, and of one that could not be had at all. */
const lockNotAvailable = '55P03';
const deadlock = '40P01';
/** A statement such as create index concurrently, in a transaction. */
const needsNoTransaction = '25001';

/** Applies one migration and records it: both or neither, unless the file does without a transaction. */
export async function applyMigration(client: pg.Client, file: MigrationFile, options: TableLockOptions = {}) {
  await resetSession(client);
  // Some statements, such as create index concurrently, cannot run in a transaction: their file says so.
  if (/^-- no transaction$/m.test(file.sql)) await applyStatements(client, file);
  else await applyInTransaction(client, file, options);
}

async function applyInTransaction(client: pg.Client, file: MigrationFile, options: TableLockOptions) {
  const { lockTimeoutMs = defaults.lockTimeoutMs, tries = defaults.tries, pauseMs = defaults.pauseMs } = options;
  for (let tried = 1; ; tried++) {
    try {
      await client.query('begin');
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      await client.query(file.sql);
      await record(client, file);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      const { code } = error as { code?: string };
      const isLocked = code === lockNotAvailable || code === deadlock;
      if (isLocked && tried < tries) {
        await delay(pauseMs);
        continue;
      }
      throw failure(file, error, isLocked ? busyTables : code === needsNoTransaction ? transactionHint : '');
    }
  }
}

const busyTables =
  '. Other transactions keep tables of it locked; nothing of it was applied: end them, or try again when there are fewer';

const transactionHint = '. Begin the file with the line -- no transaction';

/** Runs the statements of a file one by one: PostgreSQL makes a transaction of several that are sent together. */
async function applyStatements(client: pg.Client, file: MigrationFile) {
  const statements = file.sql.split(/^-- next statement$/m);
  for (const [index, sql] of statements.entries()) {
    try {
      await client.query(sql);
    } catch (error) {
      const isJoined = (error as { code?: string }).code === needsNoTransaction;
      const hint = isJoined ? '. Part its statements by the line -- next statement' : '';
      throw failure(file, error, `${hint}. ${leftBehind(index + 1, statements.length)}`);
    }
  }
  await record(client, file);
}

function leftBehind(failed: number, count: number): string {
  return `It runs without a transaction and failed at statement ${failed} of ${count}: what was done before, and what a failed one leaves such as an invalid index, is still there. It runs from its beginning when you migrate again: undo by hand what must not be there then`;
}

async function record(client: pg.Client, { stream, name, checksum }: MigrationFile) {
  // The file may have set another one, as a dump does.
  await client.query('reset search_path');
  await client.query('insert into schema_migrations (stream, name, checksum) values ($1, $2, $3)', [
    stream,
    name,
    checksum,
  ]);
}

function failure({ stream, name }: MigrationFile, error: unknown, hint: string): MigrationError {
  return new MigrationError(`Migration ${stream}/${name} failed: ${(error as Error).message}${hint}`, { cause: error });
}
