import { sql as fragment } from 'kysely';
import type pg from 'pg';
import { FailFastClient } from '../database/client.ts';
import { coalesceCalls } from '../database/coalesce-calls.ts';
import { type Query, query, runOn } from '../database/query.ts';
import { array, boolean, sql, text } from '../database/sql.ts';
import type { WorkerLocks } from '../delivery/dependencies.ts';

/**
 * The advisory locks of a worker process. A separate database session holds these locks. If the process dies,
 * PostgreSQL ends this session and releases the locks. Other processes then take over the jobs of the dead process.
 * Without these locks, graphile-worker would take over the jobs only after four hours.
 */
export interface Lease extends WorkerLocks {
  /**
   * Takes the lock of a worker pool of this process. While this process holds the lock, other processes can see that
   * this process is alive.
   */
  holdPool(poolId: string): Promise<void>;
  /**
   * Unlocks the jobs of dead processes, so that other processes can run them. Returns the ids of the dead processes'
   * worker pools.
   */
  recoverJobs(): Promise<string[]>;
  /**
   * Resolves if the database session ends before the lease is released. When this happens, the locks of the lease are
   * gone.
   */
  readonly lost: Promise<Error>;
  release(): Promise<void>;
}

/**
 * The settings of the session that holds the locks. A machine may disappear without closing its connections. With these
 * keepalives, PostgreSQL ends the session of such a machine after about 11 seconds. The keepalives have no effect on a
 * Unix socket.
 */
const keepAlive = `set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3;
  set idle_session_timeout = 0; set synchronous_commit = off`;

const hashOf = (column: string) => `hashtextextended('idea-board worker ' || ${column}, 0)`;

const holdPool = sql(
  'hold_worker_pool',
  { arguments: { poolId: text() }, row: {} },
  `select pg_advisory_lock(${hashOf('$poolId::text')})`,
);

const tryLocks = sql(
  'try_worker_locks',
  { arguments: { keys: array(text()) }, row: { is_locked: boolean() } },
  `select pg_try_advisory_lock(${hashOf('key')}) as is_locked
  from unnest($keys::text[]) with ordinality as k(key, position) order by position`,
);

const unlockAll = sql(
  'unlock_worker_locks',
  { arguments: { keys: array(text()) }, row: { was_locked: boolean() } },
  `select pg_advisory_unlock(${hashOf('key')}) as was_locked from unnest($keys::text[]) as k(key)`,
);

/**
 * Unlocks the jobs of dead processes and tells all processes about these jobs. A process is dead if this statement can
 * take the process's lock. The statement releases these locks when its transaction ends.
 */
const recover = sql(
  'recover_jobs',
  { arguments: { pools: array(text()) }, row: { locked_by: text() } },
  `with owners as (
    select distinct locked_by from graphile_worker.jobs where locked_by is not null and locked_by <> all ($pools::text[])
  ), dead as materialized (
    select locked_by from owners where pg_try_advisory_xact_lock(${hashOf('locked_by')})
  )
  select locked_by, graphile_worker.force_unlock_workers(array[locked_by]),
    pg_notify('jobs:insert', json_build_object('r', random(), 'count', 100)::text)
  from dead`,
);

const selectIsReadOnly = query('select_is_read_only', db =>
  db.selectNoFrom(fragment<boolean>`current_setting('transaction_read_only')::boolean`.as('is_read_only')),
);

export async function takeLease(connection: pg.ClientConfig): Promise<Lease> {
  const client = new FailFastClient({ ...connection, application_name: 'idea-board worker lease' });
  let isReleased = false;
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve);
    client.on('end', () => {
      if (!isReleased) resolve(new Error('the session of the lease ended'));
    });
  });
  let last: Promise<unknown> = Promise.resolve();
  /** Runs the statements one after the other, because a session can run only one statement at a time. */
  const run = <Values, Row>(statement: Query<Values, Row>, values: NoInfer<Values>): Promise<Row[]> => {
    const rows = last.then(() => runOn(client, statement, values));
    last = rows.catch(() => {});
    return rows;
  };
  try {
    await client.connect();
    await client.query(keepAlive);
    // Throws if PostgreSQL is read-only, because it may be a standby, and locks on a standby are not visible on the
    // primary.
    const [session] = await run(selectIsReadOnly, {});
    if (session?.is_read_only) throw new Error('PostgreSQL is read-only, perhaps a standby');
  } catch (error) {
    await client.close();
    throw error;
  }
  const pools: string[] = [];
  /** The locks that this process holds or asks for. PostgreSQL would grant its session the same lock a second time. */
  const taken = new Set<string>();
  const tryLock = coalesceCalls(async (keys: string[]) => {
    const rows = await run(tryLocks, { keys });
    return rows.map(({ is_locked }) => is_locked);
  });
  const unlock = coalesceCalls(async (keys: string[]) => {
    await run(unlockAll, { keys });
    return keys;
  });
  return {
    lost,
    async holdPool(poolId) {
      pools.push(poolId);
      await run(holdPool, { poolId });
    },
    async tryLock(key) {
      if (taken.has(key)) return false;
      taken.add(key);
      let isLocked = false;
      try {
        isLocked = await tryLock(key);
      } finally {
        if (!isLocked) taken.delete(key);
      }
      return isLocked;
    },
    async unlock(key) {
      await unlock(key);
      taken.delete(key);
    },
    async recoverJobs() {
      const rows = await run(recover, { pools });
      return rows.map(({ locked_by }) => locked_by);
    },
    async release() {
      isReleased = true;
      await client.close();
    },
  };
}
