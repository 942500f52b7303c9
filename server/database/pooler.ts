import { sql as fragment } from 'kysely';
import type pg from 'pg';
import { withSession } from './migration-session.ts';
import { query, runOn } from './query.ts';

/** A URL in the settings leads to a database or a connection pooler that the server cannot work with. */
export class DatabaseUrlError extends Error {}

export interface DatabaseUrls {
  /** DATABASE_URL */
  url: string;
  /** DATABASE_DIRECT_URL. Undefined if `url` leads to PostgreSQL itself. */
  directUrl?: string | undefined;
  /** DATABASE_READ_URL */
  readUrl?: string | undefined;
}

/** The number of tries of each check. Other clients of the pooler may change the result of a single try. */
const tries = 5;

/**
 * Checks the URLs of the database. Throws a DatabaseUrlError if they lead to different databases, if a connection
 * pooler in transaction mode is at the wrong URL, or if it does not support prepared statements. Calls `warn` for a
 * problem that does not prevent the start.
 */
export async function requireUsableUrls(
  { url, directUrl, readUrl }: DatabaseUrls,
  connectTimeoutMs: number,
  warn: (problem: string) => void,
): Promise<void> {
  const settings: pg.ClientConfig = { connectionTimeoutMillis: connectTimeoutMs };
  const name = directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  await withSession(directUrl ?? url, direct => requireDirect(direct, directUrl ?? url, name, settings), settings);
  if (readUrl !== undefined) await requireReplicaOf(directUrl ?? url, readUrl, settings, warn);
  if (directUrl === undefined) return;
  await withPooledSession(url, settings, async first => {
    await withPooledSession(url, settings, second => requirePreparedStatements(first, second));
    const isSame = await withSession(directUrl, direct => haveSameDatabase(first, direct), settings);
    if (!isSame) throw new DatabaseUrlError('DATABASE_URL and DATABASE_DIRECT_URL lead to different databases');
    const [limits] = await runOn(first, selectStatementTimeout, {});
    if (limits?.statement_timeout !== '0') return;
    warn('The connections of the pooler have no time limit for statements: set statement_timeout in its connect_query');
  });
}

/** Opens a session with the same startup parameters as the server's connections through a pooler. */
async function withPooledSession<T>(url: string, settings: pg.ClientConfig, work: (client: pg.Client) => Promise<T>) {
  try {
    return await withSession(url, work, { ...settings, options: sessionOptions });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code !== '08P01' || !message.includes('startup parameter')) throw error;
    throw new DatabaseUrlError(`The connection pooler at DATABASE_URL: ${message}. ${neededPooler}`, { cause: error });
  }
}

/**
 * The options of each session. The cursors of lists contain times as text. This text must not depend on the database's
 * settings for dates and time zones.
 */
export const sessionOptions = '-c DateStyle=ISO -c TimeZone=UTC';

const neededPooler =
  'Use PgBouncer 1.21 or newer with max_prepared_statements above 0, or remove the pooler from DATABASE_URL';

/** Not prepared, because a pooler without support for prepared statements would refuse it. */
const selectBackend = query('select_backend', db => db.selectNoFrom(fragment<number>`pg_backend_pid()`.as('pid')), {
  isPrepared: false,
});

/**
 * Throws if the URL leads to a pooler in transaction mode: two of its connections can share a session of PostgreSQL.
 */
async function requireDirect(first: pg.Client, url: string, name: string, settings: pg.ClientConfig) {
  const backendOf = async (client: pg.Client) => (await runOn(client, selectBackend, {}))[0]?.pid;
  // PostgreSQL announces the id of its process to each client. A pooler announces an id of its own.
  const pid = await backendOf(first);
  if (pid === (first as pg.Client & { processID: number }).processID) return;
  await withSession(
    url,
    async second => {
      for (let tried = 0; tried < tries; tried++) {
        const others = [await backendOf(second), await backendOf(first)];
        if (others[0] !== pid && others[1] === pid) continue;
        throw new DatabaseUrlError(
          `${name} leads to a connection pooler in transaction mode, such as PgBouncer. Set DATABASE_DIRECT_URL to the URL of PostgreSQL itself`,
        );
      }
    },
    settings,
  );
}

/** The codes for an unknown prepared statement, and for a statement that exists already. */
const preparedElsewhere = ['26000', '42P05'];

/** Runs two different statements with the same name. A pooler without support for prepared statements mixes them up. */
async function requirePreparedStatements(first: pg.Client, second: pg.Client) {
  const numberOf = async (client: pg.Client, number: number) => {
    const text = `select ${number} as number`;
    return (await client.query({ name: 'check_pooler', text })).rows[0]?.number;
  };
  try {
    for (let tried = 0; tried < tries; tried++) {
      if ((await numberOf(first, 1)) === 1 && (await numberOf(second, 2)) === 2) continue;
      throw Object.assign(new Error('statements with the same name were mixed up'), { code: preparedElsewhere[0] });
    }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (!preparedElsewhere.includes(code ?? '')) throw error;
    throw new DatabaseUrlError(
      `The connection pooler at DATABASE_URL does not support prepared statements: ${message}. ${neededPooler}`,
      { cause: error },
    );
  }
}

/** Identifies a database. A standby and its primary have the same values. */
export const databaseIdentity = fragment<string>`concat_ws(' ', (pg_control_system()).system_identifier,
  (select oid from pg_database where datname = current_database()))`;

const selectIdentity = query('select_database_identity', db => db.selectNoFrom(databaseIdentity.as('identity')));

async function haveSameDatabase(first: pg.Client, second: pg.Client): Promise<boolean> {
  const [one] = await runOn(first, selectIdentity, {});
  const [other] = await runOn(second, selectIdentity, {});
  return one?.identity === other?.identity;
}

/** Throws if DATABASE_READ_URL leads to another database. Only warns if the replica does not answer. */
async function requireReplicaOf(
  url: string,
  readUrl: string,
  settings: pg.ClientConfig,
  warn: (problem: string) => void,
): Promise<void> {
  let isSame = true;
  try {
    isSame = await withSession(
      readUrl,
      replica => withSession(url, primary => haveSameDatabase(replica, primary), settings),
      settings,
    );
  } catch (error) {
    warn(`the replica at DATABASE_READ_URL does not answer: ${(error as Error).message}`);
  }
  if (!isSame) throw new DatabaseUrlError('DATABASE_URL and DATABASE_READ_URL lead to different databases');
}

const selectStatementTimeout = query('select_statement_timeout', db =>
  db.selectNoFrom(fragment<string>`current_setting('statement_timeout')`.as('statement_timeout')),
);
