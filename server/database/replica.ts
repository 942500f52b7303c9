import { setTimeout as delay } from 'node:timers/promises';
import { sql as fragment } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { FailFastClient } from './client.ts';
import { databaseIdentity } from './pooler.ts';
import { configOf, type Query, query, type RowOf, runOn } from './query.ts';
import { traceQuery } from './trace-statement.ts';
import { isDatabaseUnavailable, statementTimeout } from './unavailable.ts';

interface Queries {
  query<Values, Row>(query: Query<Values, Row>, values: NoInfer<Values>): Promise<Row[]>;
}

/** A read replica: a streaming standby of the primary, for reads whose data may be a little old. */
export interface Replica extends Queries {
  /** Runs a query on the replica. If the replica cannot be used, runs the query on the primary. */
  readonly query: Queries['query'];
  /** The state of the replica. `lagMs` is the maximum age of its data, or infinite if the age is unknown. */
  state(): { isUsed: boolean; lagMs: number };
  close(): Promise<void>;
}

export interface ReplicaOptions {
  /** The settings of a connection to the replica. */
  connection: pg.PoolConfig;
  /** Runs queries on the primary. */
  primary: Queries;
  /** Runs the queries that measure the lag on the primary. */
  probe: Queries;
  maxLagMs: number;
  logger: Pick<Logger, 'warn'>;
}

/** The time between two measurements of the lag. It is random, so that several servers measure at different times. */
const intervalMs = () => 250 + Math.random() * 250;
/**
 * The time limit for measuring the lag. If a measurement takes longer, the replica is not used until the next
 * successful measurement.
 */
const probeTimeoutMs = 1_000;

const selectPrimaryPosition = query('select_primary_position', db =>
  db
    .selectNoFrom(fragment<number>`(pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8`.as('position'))
    .select(databaseIdentity.as('identity'))
    .select(fragment<number>`('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int`.as('timeline')),
);

/**
 * The timeline changes with each failover. A standby that does not follow the new primary may have changes that the new
 * primary never had. A standby that does follow it shows the new timeline at its next checkpoint.
 */
const selectReplicaPosition = query('select_replica_position', db =>
  db
    .selectNoFrom(fragment<number | null>`(pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::float8`.as('position'))
    .select(databaseIdentity.as('identity'))
    .select(fragment<number>`(pg_control_checkpoint()).timeline_id`.as('timeline'))
    .select(fragment<boolean>`pg_is_in_recovery()`.as('is_standby')),
);

type PrimaryPosition = RowOf<typeof selectPrimaryPosition>;
type ReplicaPosition = RowOf<typeof selectReplicaPosition>;

/**
 * Opens a replica. From the first query on, the server regularly reads the primary's position in the write-ahead log.
 * Once the replica has replayed a position, it has every commit from before the server read that position.
 */
export function openReplica({ connection, primary, probe, maxLagMs, logger }: ReplicaOptions): Replica {
  const clients = new Set<FailFastClient>();
  const pool = openPool(connection, clients);
  const probing = openPool({ ...connection, ...probeSettings }, new Set());
  const stopping = new AbortController();
  /** Positions in the primary's write-ahead log that the replica may not have replayed yet, oldest first. */
  let ahead: { at: number; position: number }[] = [];
  /** The replica has every commit before this time, in milliseconds of performance.now(). */
  let freshAt = Number.NEGATIVE_INFINITY;
  let problem: string | undefined;
  let watching: Promise<void> | undefined;

  const lagMs = () => performance.now() - freshAt;
  const isUsed = () => lagMs() <= maxLagMs;

  async function measure() {
    const at = performance.now();
    const [ofPrimary] = await probe.query(selectPrimaryPosition, {});
    if (!ofPrimary) return;
    ahead.push({ at, position: ofPrimary.position });
    const [ofReplica] = await runOn(probing, selectReplicaPosition, {}).catch(error => {
      // Breaks the connections to the replica. The queries that wait for the replica fail at once, and then run on the
      // primary.
      for (const client of clients) client.cut();
      throw error;
    });
    const mismatch = ofReplica && mismatchOf(ofPrimary, ofReplica);
    if (!ofReplica || mismatch) return leave(mismatch ?? 'it does not answer');
    const replayed = ahead.filter(({ position }) => position <= (ofReplica.position ?? 0));
    freshAt = Math.max(freshAt, replayed.at(-1)?.at ?? freshAt);
    ahead = ahead.filter(one => one.at > freshAt).slice(-maxMarks);
    if (isUsed()) note(undefined);
    else if (at - (ahead[0]?.at ?? at) > maxLagMs) note(`it is more than ${maxLagMs} ms behind`);
  }

  function leave(reason: string) {
    freshAt = Number.NEGATIVE_INFINITY;
    ahead = [];
    note(reason);
  }

  function note(reason: string | undefined) {
    if (reason === problem) return;
    problem = reason;
    if (reason === undefined) logger.warn('reads use the replica at DATABASE_READ_URL');
    else logger.warn(`reads use the primary, because of the replica at DATABASE_READ_URL: ${reason}`);
  }

  async function watch() {
    while (!stopping.signal.aborted) {
      await measure().catch((error: Error) => leave(error.message));
      await delay(intervalMs(), undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  return {
    async query(statement, values) {
      watching ??= watch();
      if (!isUsed()) return primary.query(statement, values);
      try {
        return await traceQuery(statement, async () => (await pool.query(configOf(statement, values))).rows);
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        // Does not run the statement on the primary after it timed out on the replica. It would take as long there.
        if (code === statementTimeout) throw error;
        const isBusy = message === 'timeout exceeded when trying to connect';
        if (isDatabaseUnavailable(error) && !isBusy) leave(message);
        return primary.query(statement, values);
      }
    },
    state() {
      watching ??= watch();
      return { isUsed: isUsed(), lagMs: lagMs() };
    },
    async close() {
      stopping.abort();
      await watching;
      await Promise.all([pool.end(), probing.end()]);
    },
  };
}

/**
 * The maximum number of remembered positions. They span at least ten minutes, the maximum of DATABASE_READ_MAX_LAG_MS. The
 * server drops the oldest ones first.
 */
const maxMarks = 2_400;

const probeSettings: pg.PoolConfig = {
  application_name: 'idea-board probe',
  max: 1,
  connectionTimeoutMillis: probeTimeoutMs,
  query_timeout: probeTimeoutMs,
};

function openPool(settings: pg.PoolConfig, clients: Set<FailFastClient>): pg.Pool {
  const pool = new pg.Pool({ ...settings, Client: FailFastClient });
  // Without a listener, an 'error' event of an idle connection would end the process. The next measurement of the lag
  // reports the lost connection.
  pool.on('error', () => {});
  pool.on('connect', (client: pg.ClientBase) => {
    client.on('error', () => {});
    if (!(client instanceof FailFastClient)) return;
    clients.add(client);
    client.on('end', () => clients.delete(client));
  });
  return pool;
}

function mismatchOf(primary: PrimaryPosition, replica: ReplicaPosition): string | undefined {
  if (replica.identity !== primary.identity) return 'it is another database';
  if (!replica.is_standby) return 'it is no standby, perhaps after a failover';
  return replica.timeline === primary.timeline ? undefined : 'it does not follow the primary since the last failover';
}
