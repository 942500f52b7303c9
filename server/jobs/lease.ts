import type pg from 'pg';
import { WaryClient } from '../database/client.ts';
import { batchCalls } from './batch-calls.ts';

/**
 * What a worker process holds while it lives: advisory locks of a session of its own. PostgreSQL frees them the moment
 * the process dies, so that others take its jobs over at once, where graphile-worker alone would wait four hours.
 */
export interface Lease {
  /** Marks the jobs that are locked by this pool as those of a living process. */
  holdPool(poolId: string): Promise<void>;
  /** Takes a lock that one process at most has, or answers false. A process asks for none that it has. */
  tryLock(key: string): Promise<boolean>;
  unlock(key: string): Promise<void>;
  /** Frees the jobs of processes that died, and answers whose they were. */
  recoverJobs(): Promise<string[]>;
  /** Resolves when the session ends without having been released: the locks are gone. */
  readonly lost: Promise<Error>;
  release(): Promise<void>;
}

/**
 * A machine that vanishes says no farewell: after about 11 silent seconds PostgreSQL takes the session for dead. Over a
 * socket of the same machine these settings mean nothing.
 */
const keepAlive = `set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3;
  set idle_session_timeout = 0; set synchronous_commit = off`;

const hashOf = (column: string) => `hashtextextended('idea-board worker ' || ${column}, 0)`;

const tryLockStatement = `select pg_try_advisory_lock(${hashOf('key')}) as is_locked
  from unnest($1::text[]) with ordinality as k(key, position) order by position`;

const unlockStatement = `select pg_advisory_unlock(${hashOf('key')}) from unnest($1::text[]) as k(key)`;

/** Every process hears of the jobs that are free again. The locks that are tried here end with the statement. */
const recoverStatement = `
  with owners as (
    select distinct locked_by from graphile_worker.jobs where locked_by is not null and locked_by <> all ($1::text[])
  ), dead as materialized (
    select locked_by from owners where pg_try_advisory_xact_lock(${hashOf('locked_by')})
  )
  select locked_by, graphile_worker.force_unlock_workers(array[locked_by]),
    pg_notify('jobs:insert', json_build_object('r', random(), 'count', 100)::text)
  from dead`;

export async function takeLease(connection: pg.ClientConfig): Promise<Lease> {
  const client = new WaryClient({ ...connection, application_name: 'idea-board worker lease' });
  let isReleased = false;
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve);
    client.on('end', () => {
      if (!isReleased) resolve(new Error('the session of the lease ended'));
    });
  });
  try {
    await client.connect();
    await client.query(keepAlive);
    await requireWrites(client);
  } catch (error) {
    await client.leave();
    throw error;
  }
  let last: Promise<unknown> = Promise.resolve();
  /** One statement after the other, as the session runs them. */
  const query = (config: pg.QueryConfig): Promise<pg.QueryResult> => {
    const result = last.then(() => client.query(config));
    last = result.catch(() => {});
    return result;
  };
  const pools: string[] = [];

  const unlock = batchCalls(async (keys: string[]) => {
    await query({ name: 'unlock', text: unlockStatement, values: [keys] });
    return keys;
  });
  return {
    lost,
    async holdPool(poolId) {
      pools.push(poolId);
      await query({ text: `select pg_advisory_lock(${hashOf('$1::text')})`, values: [poolId] });
    },
    tryLock: batchCalls(async (keys: string[]) => {
      const { rows } = await query({ name: 'try_lock', text: tryLockStatement, values: [keys] });
      return rows.map(({ is_locked }) => is_locked as boolean);
    }),
    async unlock(key) {
      await unlock(key);
    },
    async recoverJobs() {
      const { rows } = await query({ name: 'recover', text: recoverStatement, values: [pools] });
      return rows.map(({ locked_by }) => locked_by as string);
    },
    async release() {
      isReleased = true;
      await client.leave();
    },
  };
}

/** A lock on a standby says nothing to those who work on the primary. */
async function requireWrites(client: WaryClient) {
  const { rows } = await client.query('show transaction_read_only');
  if (rows[0]?.transaction_read_only === 'on') throw new Error('PostgreSQL is read only, as a standby is');
}
