import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { MigrationError } from './migration-error.ts';
import { runOn } from './run-on.ts';
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
