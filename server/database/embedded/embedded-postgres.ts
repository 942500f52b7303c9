import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type DatabaseError } from 'pg';
import { isSecured, loadPassword, secureCluster } from './cluster-access.ts';
import { locatePostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { type Cluster, createCluster, findCluster, makeDirectory } from './postgres-cluster.ts';
import { applicationName, EmbeddedPostgresError } from './postgres-program.ts';
import {
  awaitPostmaster,
  type Launched,
  launchPostmaster,
  type Postmaster,
  removeLeftovers,
  stopPostmaster,
} from './postmaster.ts';

export interface EmbeddedPostgresOptions {
  /**
   * The data directory. It contains the database cluster `postgres` and the file `postgres.log`. A missing directory is
   * created.
   */
  dataDir: string;
  /**
   * Whether PostgreSQL writes every commit to the disk before it confirms the commit. False is faster for tests, but a
   * power failure may lose data. Default: true.
   */
  durable?: boolean;
  /** PostgreSQL's settings by name. A PostgreSQL that is already running keeps its own settings. */
  settings?: Record<string, string>;
}

export interface EmbeddedPostgres {
  /** The settings for `pg` to connect to the application's database. The host is the directory of a Unix socket. */
  connection: { host: string; port: number; user: string; password: string; database: string };
  /**
   * The URL of a database, for pg, psql and MikroORM:
   * `postgresql://idea_board:<password>@%2Ftmp%2F<directory>:5432/<database>?sslmode=disable`. The host is the encoded
   * directory of the socket, because `new URL` refuses an empty host with `?host=`.
   */
  url(database?: string): string;
  /** Whether this process owns PostgreSQL, so that stop() also stops PostgreSQL. */
  readonly isOwner: boolean;
  /**
   * Stops PostgreSQL if this process owns it, and waits until PostgreSQL has exited. Close the connection pools first,
   * because PostgreSQL ends all sessions.
   */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of a data directory, or takes it over if a killed process left it running. This process owns
 * PostgreSQL until stop().
 *
 * @throws {EmbeddedPostgresError} A one-line message. The code is `in_use` if another process owns PostgreSQL.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const { durable: isDurable = true, settings = {} } = options;
  const binaries = await locatePostgresBinaries();
  const { cluster, password } = await useDataDir(dataDir, () => prepareCluster(dataDir, binaries, isDurable));
  const launch = () => launchPostmaster(cluster, binaries, { isDurable, settings });
  const session = await useDataDir(dataDir, () => openSession(cluster, password, takeOwnership, launch));
  const { client, postmaster } = await requireOwnership(session as Session<boolean>, dataDir);
  const ownership = keepOwnership(client, postmaster, password);
  const stop = async () => {
    ownership.release();
    if (ownership.isHeld()) await stopPostmaster(postmaster, cluster);
  };
  let stopped: Promise<void> | undefined;
  return {
    ...describeConnection(postmaster, password),
    get isOwner() {
      return ownership.isHeld();
    },
    stop: () => (stopped ??= stop()),
  };
}

/**
 * Connects to the PostgreSQL that runs in a data directory. In this case, stop() leaves PostgreSQL running. If no
 * PostgreSQL is running there, starts one, and stop() stops it.
 */
export async function connectOrStart(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const running = await useRunning(dataDir);
  if (running !== undefined) return running;
  try {
    return await startEmbeddedPostgres(options);
  } catch (error) {
    // Looks again for a running PostgreSQL, because a server may have started PostgreSQL in the meantime.
    const isInUse = error instanceof EmbeddedPostgresError && error.code === 'in_use';
    const started = isInUse ? await useRunning(dataDir) : undefined;
    if (started !== undefined) return started;
    throw error;
  }
}

async function useRunning(dataDir: string): Promise<EmbeddedPostgres | undefined> {
  return useDataDir(dataDir, async () => {
    const cluster = await findCluster(dataDir);
    if (cluster === undefined) return undefined;
    const password = await loadPassword(dataDir, cluster.runAs);
    // Waits for the application's database, because a server that has just started PostgreSQL may not have created it
    // yet.
    const session = await openSession(cluster, password, createApplicationDatabase);
    if (session === undefined) return undefined;
    await session.client.end();
    return { ...describeConnection(session.postmaster, password), isOwner: false, stop: async () => {} };
  });
}

/**
 * Finds or creates the database cluster. If the cluster does not require the password of the password file, sets up the
 * cluster's password and access rules.
 */
async function prepareCluster(dataDir: string, binaries: PostgresBinaries, isDurable: boolean) {
  const found = await findCluster(dataDir);
  if (found === undefined) await makeDirectory(dataDir);
  const password = await loadPassword(dataDir, found?.runAs);
  const cluster = found ?? (await createCluster(dataDir, binaries, { isDurable, password }));
  while (!(await isSecured(cluster.directory, password))) {
    // Stops PostgreSQL before its access rules are set up, because a killed server may have left it running.
    const running = await openSession(cluster, password, lockCluster);
    if (running !== undefined) await stopPostmaster((await requireOwnership(running, dataDir)).postmaster, cluster);
    await removeLeftovers(cluster);
    if (await secureCluster(cluster, binaries, password)) break;
  }
  return { cluster, password };
}

async function requireOwnership(session: Session<boolean>, dataDir: string): Promise<Session<boolean>> {
  if (session.outcome) return session;
  await session.client.end();
  throw new EmbeddedPostgresError(`another Idea-Board server is using ${dataDir}`, { code: 'in_use' });
}

interface Session<Outcome> {
  postmaster: Postmaster;
  client: Client;
  outcome: Outcome;
}

/**
 * The maximum time that a ready PostgreSQL may still refuse connections, for example because all its connections are
 * taken.
 */
const failureLimitMs = 3_000;

/** PostgreSQL's error codes while it is stopping, or is not ready for connections. */
const shutdownCodes = ['57P01', '57P03'];

/**
 * Connects and runs `begin` on the connection. Tries again as long as PostgreSQL is stopping or not ready. After other
 * errors, tries again only for `failureLimitMs`.
 */
async function openSession<Outcome>(
  cluster: Cluster,
  password: string,
  begin: (client: Client) => Promise<Outcome>,
  launch?: () => Promise<Launched>,
): Promise<Session<Outcome> | undefined> {
  let child: Postmaster['child'];
  let failing: { pid: number; since: number } | undefined;
  for (;;) {
    const found = await awaitPostmaster(cluster, launch);
    if (found === undefined) return undefined;
    child = found.child ?? child;
    const postmaster = { ...found, ...(child?.pid === found.pid && { child }) };
    const client = createMaintenanceClient(postmaster, password);
    try {
      await client.connect();
      return { postmaster, client, outcome: await begin(client) };
    } catch (error) {
      await client.end().catch(() => {});
      if (failing?.pid !== found.pid) failing = { pid: found.pid, since: Date.now() };
      const isShutdown = shutdownCodes.includes((error as DatabaseError).code ?? '');
      if (!isShutdown && Date.now() - failing.since > failureLimitMs) {
        if (postmaster.child !== undefined) await stopPostmaster(postmaster, cluster);
        const reason = (error as Error).message;
        throw new EmbeddedPostgresError(
          `PostgreSQL (process ${found.pid}) runs in ${cluster.dataDir} but does not serve: ${reason}`,
          { cause: error },
        );
      }
      await sleep(20);
    }
  }
}

/** Creates a client of the database `postgres`, which always exists. */
function createMaintenanceClient({ socketDir, port }: Postmaster, password: string): Client {
  const client = new Client({
    host: socketDir,
    port,
    user: applicationName,
    password,
    database: 'postgres',
    ssl: false, // Ignores PGSSLMODE, which concerns another PostgreSQL server.
    connectionTimeoutMillis: 5_000,
    application_name: 'idea-board maintenance',
  });
  client.on('error', () => {}); // Without this listener, the end of PostgreSQL would end this process.
  return client;
}

async function takeOwnership(client: Client): Promise<boolean> {
  const isOwner = await lockCluster(client);
  if (isOwner) await createApplicationDatabase(client);
  return isOwner;
}

/** The id of the advisory lock. It is arbitrary, because the database `postgres` has no other advisory locks. */
const ownershipLock = 1;

/** Waits up to half a second for the lock, because PostgreSQL may not know yet that the former owner was killed. */
async function lockCluster(client: Client): Promise<boolean> {
  await client.query(`set lock_timeout = '500ms'`);
  try {
    await client.query('select pg_advisory_lock($1)', [ownershipLock]);
    return true;
  } catch (error) {
    if ((error as DatabaseError).code === '55P03') return false;
    throw error;
  }
}

const relockIntervalMs = 250;

/**
 * Holds the ownership lock while PostgreSQL runs. The lock ends with its session, and a crash of any PostgreSQL process
 * ends all sessions. The function then takes the lock in a new session.
 */
function keepOwnership(first: Client, postmaster: Postmaster, password: string) {
  let isHeld = true;
  let isReleased = false;

  const relockAtEnd = (client: Client) => client.once('end', () => relock().catch(retryLater));
  const retryLater = () => void setTimeout(() => relock().catch(retryLater), relockIntervalMs).unref();
  const relock = async () => {
    if (isReleased) return;
    const client = createMaintenanceClient(postmaster, password);
    await client.connect();
    isHeld = await lockCluster(client);
    if (isHeld) relockAtEnd(client);
    else await client.end();
  };

  relockAtEnd(first);
  return {
    isHeld: () => isHeld,
    /**
     * After `release`, this process does not take the lock again when the lock's session ends. The session keeps the
     * lock until PostgreSQL shuts down, so no other process can become the owner earlier.
     */
    release: () => {
      isReleased = true;
    },
  };
}

async function createApplicationDatabase(client: Client) {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [applicationName]);
  if (rowCount !== 0) return;
  await client.query(`create database ${applicationName}`).catch((error: DatabaseError) => {
    // These codes mean that another process has created the application's database in the meantime.
    if (error.code !== '42P04' && error.code !== '23505') throw error;
  });
}

function describeConnection({ socketDir, port }: Postmaster, password: string) {
  return {
    connection: { host: socketDir, port, user: applicationName, password, database: applicationName },
    url: (database: string = applicationName) => {
      const authority = `${applicationName}:${encodeURIComponent(password)}@${encodeURIComponent(socketDir)}:${port}`;
      // Turns off TLS, because a Unix socket has no TLS. The variable PGSSLMODE concerns another PostgreSQL server.
      return `postgresql://${authority}/${encodeURIComponent(database)}?sslmode=disable`;
    },
  };
}

async function useDataDir<Result>(dataDir: string, use: () => Promise<Result>): Promise<Result> {
  try {
    return await use();
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    const message = `cannot keep a database in ${dataDir}: ${(error as Error).message}`;
    throw new EmbeddedPostgresError(message, { cause: error });
  }
}
