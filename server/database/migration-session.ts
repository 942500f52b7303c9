import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { MigrationError, type MigrationFile, type MigrationName } from './migration-files.ts';
import { runOn } from './query.ts';
import { bigint, boolean, integer, nullable, sql, text, time } from './sql.ts';

/**
 * The id of the advisory lock that lets only one process migrate. A second process waits for the lock and then finds no
 * pending migrations.
 */
const lockId = 4_216_839_001;

const pollMs = 100;

/** The name of the database sessions that migrate. */
export const migrationSession = 'idea-board migrate';

export interface LockOptions {
  /**
   * The maximum time to wait for another migrating process. A process manager usually stops a waiting process earlier.
   */
  waitMs?: number | undefined;
  /** The server reports a wait for the lock that is longer than this time. */
  noticeMs?: number | undefined;
  /** Called once during a wait, with a description of the process that holds the lock. */
  onWait?: ((holder: string) => void) | undefined;
}

/**
 * The settings of the migrating session. A migration may take any time, even if the database role has timeouts. If the
 * machine of a migrating process disappears, the keepalives end its session after about 11 seconds and free its lock.
 */
const settings = `
  reset all;
  set statement_timeout = 0; set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0;
  set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3`;

/**
 * During a statement, PostgreSQL checks each second whether the migrating process is still connected, because the
 * process may have been killed. PostgreSQL does not support this check on all platforms.
 */
const checkConnection = `set client_connection_check_interval = '1s'`;

export async function withSession<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  settings: pg.ClientConfig = {},
): Promise<T> {
  const session = { connectionString: url, application_name: migrationSession, keepAlive: true };
  const client = new pg.Client({ ...session, ...settings });
  // Ignores the error event of a broken connection, because the query on the connection fails anyway.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

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
 * Takes the migration lock, so that no other session migrates until this session ends. The function polls, because a
 * session that waits for a lock in PostgreSQL holds a snapshot. If the holder of the lock runs `create index
 * concurrently`, that statement would wait for the snapshot.
 */
export async function lockMigrations(client: pg.Client, options: LockOptions = {}): Promise<void> {
  const { waitMs = 600_000, noticeMs = 2_000, onWait } = options;
  const startedAt = performance.now();
  let isReported = false;
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
    if (!isReported && waitedMs >= noticeMs) {
      isReported = true;
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

/** Observes migrations, for the rehearsal of an upgrade. */
export interface MigrationWatch {
  /** Runs one migration. */
  around<T>(migration: MigrationName, work: () => Promise<T>): Promise<T>;
  /** Runs before the commit of a migration, when its transaction holds all its locks. */
  beforeCommit(client: pg.Client): Promise<void>;
}

export interface TableLockOptions {
  watch?: MigrationWatch | undefined;
  lockTimeoutMs?: number | undefined;
  tries?: number | undefined;
  /** The pause between two tries of a migration. During the pause, waiting requests can use the tables. */
  pauseMs?: number | undefined;
}

/**
 * While a migration waits for a lock on a table, requests for that table wait behind the migration. So each try is so
 * short that these requests do not time out. The migration makes 25 tries in a minute and a half.
 */
const defaults = { lockTimeoutMs: 500, tries: 25, pauseMs: 3_000 };

const lockNotAvailable = '55P03';
const deadlock = '40P01';
/** PostgreSQL's code for a statement that cannot run in a transaction, such as `create index concurrently`. */
const refusesTransaction = '25001';

/**
 * Applies one migration and records it as applied, in one transaction. If the file has the line `-- no transaction`,
 * the function uses no transaction.
 */
export async function applyMigration(client: pg.Client, file: MigrationFile, options: TableLockOptions = {}) {
  await resetSession(client);
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
      await options.watch?.beforeCommit(client);
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
      throw failure(file, error, isLocked ? busyTables : code === refusesTransaction ? transactionHint : '');
    }
  }
}

const busyTables =
  '. Other transactions hold locks on its tables. Nothing was applied. End them, or try again when there is less load';

const transactionHint = '. Add the line "-- no transaction" at the top of the file';

/**
 * Runs the statements one by one. If one message contained several statements, PostgreSQL would run them as one
 * transaction.
 */
async function applyStatements(client: pg.Client, file: MigrationFile) {
  const statements = file.sql.split(/^-- next statement$/m);
  for (const [index, sql] of statements.entries()) {
    try {
      await client.query(sql);
    } catch (error) {
      const isJoined = (error as { code?: string }).code === refusesTransaction;
      const hint = isJoined ? '. Separate its statements with the line "-- next statement"' : '';
      throw failure(file, error, `${hint}. ${leftBehind(index + 1, statements.length)}`);
    }
  }
  await record(client, file);
}

function leftBehind(failed: number, count: number): string {
  return `It runs without a transaction and failed at statement ${failed} of ${count}. The effects of the earlier statements remain, also an invalid index of the failed one. The next migration starts at the first statement, so undo the effects by hand`;
}

async function record(client: pg.Client, { stream, name, checksum }: MigrationFile) {
  // Resets the search_path, because the migration may have changed it, as the SQL of a dump does.
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
